"""The attributes numaplacement, decoded by the Go module that NodeResourceTopologyMatch uses.

The module has no release, so the test takes the latest commit, or a checkout that
NUMALET_NUMAPLACEMENT names. It is skipped where Go does not get the module.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.shared.publish import node_view
from values import profile_bench

SOURCE: Final = Path(__file__).parent / "numaplacement"
MODULE: Final = "github.com/k8stopologyawareschedwg/numaplacement"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built program, or the reason why the tests are skipped."""
    if shutil.which("go") is None:
        pytest.skip("there is no go")
    folder = tmp_path_factory.mktemp("numaplacement")
    shutil.copy(SOURCE / "main.go", folder)
    checkout = os.environ.get("NUMALET_NUMAPLACEMENT")
    get = ["mod", "edit", f"-replace={MODULE}={checkout}"] if checkout else ["get", MODULE]
    for words in (["mod", "init", "decoder"], get, ["mod", "tidy"], ["build", "-o", "decoder"]):
        done = subprocess.run(
            ["go", *words], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"go {words[0]}: {done.stderr.splitlines()[-1]}")
    return folder / "decoder"


def decoded(program: Path, node: Node) -> dict[str, int]:
    """The NUMA node of every container that the scheduler knows, as the Go program prints it."""
    pods = node.snapshot.pods.values()
    content = node_view.view_of_node(node, KubeletConfig(), pods).topology_with_placement
    assert content is not None
    containers = [name.split("/") for name in held(node)]
    done = subprocess.run(
        [program],
        input=json.dumps({**content, "containers": containers}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


def held(node: Node) -> dict[str, int]:
    """The NUMA node of every container by the ledgers of the node."""
    node_of = {
        cpu: each.node_id
        for each in node.rules.machine.nodes
        for core in each.cores
        for cpu in core.threads
    }
    found: dict[str, int] = {}
    for pod in node.snapshot.pods.values():
        for container in pod.containers():
            of = placement.of_container(node.snapshot, pod.uid, container.name)
            (node_id,) = {node_of[cpu] for cpu in of.cpus} | {
                each for block in of.memory for each in block.nodes
            }
            found[f"{pod.namespace}/{pod.name}/{container.name}"] = node_id
    return found


def filled(profile: str, seed: int) -> Node:
    """A node with single-numa-node that admitted what fits of 60 pods."""
    node = profile_bench.started(profile, topologyManagerPolicy="single-numa-node")
    chance = random.Random(seed)
    pods = [
        profile_bench.asks(f"pod-{at}", f"{chance.randint(1, 8)}Gi", cpu=str(chance.randint(1, 6)))
        for at in range(60)
    ]
    filled_node, admitted = profile_bench.offered(node, pods)
    assert len(admitted) > 8
    return filled_node


@pytest.mark.parametrize("profile", ["xeon-2n", "snc4"])
def test_the_module_decodes_where_every_container_is(decoder: Path, profile: str) -> None:
    node = filled(profile, 7)
    expected = held(node)
    assert len(set(expected.values())) > 1
    assert decoded(decoder, node) == expected


def test_the_module_decodes_an_empty_node(decoder: Path) -> None:
    node = profile_bench.started("xeon-2n", topologyManagerPolicy="single-numa-node")
    assert decoded(decoder, node) == {}
