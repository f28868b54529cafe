"""A node agent over reboots: its root folder stays, the machine does or does not.

``NUMALET_LAB_BOOT`` says which boot it is. The folder is copied from and to the one that stays, so
that a socket and locks are in a file system that has them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.guest.node_agent import PATIENCE_SECONDS, NodeAgent, empty, numalet, pod
from running.agent_processes import Forks

BOOT = os.environ.get("NUMALET_LAB_BOOT", "")
CONFIG = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0",
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
    "topologyManagerPolicy": "single-numa-node",
}
PINNED = {"cpu": "2", "memory": "96Mi"}
MEMORY = "memory_manager_state"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "kubelet.json"
    path.write_text(json.dumps(CONFIG))
    return path


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    kept = Path(os.environ["NUMALET_LAB_DISK"]) / "agent"
    ours = tmp_path / "root"
    if kept.exists():
        shutil.copytree(kept, ours)
    yield ours
    shutil.rmtree(kept, ignore_errors=True)
    sockets = shutil.ignore_patterns("*.sock")
    shutil.copytree(ours, kept, ignore=sockets)


def held(agent: NodeAgent) -> tuple[frozenset[int], frozenset[int]]:
    """What the kernel lets the pinned pod use, after its memory was seen there."""
    ours = agent.container("pinned")
    assert {1} == ours.memory_nodes()
    return ours.allowed()


@pytest.mark.skipif(BOOT != "first", reason="for the first boot")
def test_pods_run_when_the_machine_goes_down(root: Path, config: Path, forks: Forks) -> None:
    with NodeAgent(forks, root, "--config", str(config)) as agent:
        decided = agent.apply(pod("pinned", PINNED), pod("shared", requests={"cpu": "100m"}))
        assert decided.exit_code == 0, decided.output
        agent.await_running("pinned", "shared")
        assert (frozenset({2, 3}), frozenset({1})) == held(agent)


@pytest.mark.skipif(BOOT != "same", reason="for a reboot of the same machine")
def test_the_same_machine_has_its_pods_where_they_were(
    root: Path, config: Path, forks: Forks
) -> None:
    before = (root / MEMORY).read_bytes()
    with NodeAgent(forks, root, "--config", str(config)) as agent:
        assert before == (root / MEMORY).read_bytes()
        agent.await_running("pinned", "shared")
        assert (frozenset({2, 3}), frozenset({1})) == held(agent)
        assert agent.node_state() == agent.kernel()
        assert agent.await_audit("pinned")
    empty()


@pytest.mark.skipif(BOOT != "changed", reason="for a reboot with other memory")
def test_another_machine_stops_an_exact_agent_and_a_native_one_keeps_what_fits(
    root: Path, config: Path, tmp_path: Path, forks: Forks
) -> None:
    refused = NodeAgent(forks, root, "--config", str(config), "--exact")
    assert refused.process.wait(PATIENCE_SECONDS) == 2, refused.said()
    said = " ".join(refused.said().split())
    assert "the expected machine state is different from the real one" in said
    assert "'numalet state rebase --write" in said
    # Node 1 became smaller, by more than a reboot explains; node 0 did not.
    (drift,) = re.findall(r"NUMA node (\d) has another total, -(\d+)Mi: memory was", said)
    assert (drift[0], 200 < int(drift[1]) < 300) == ("1", True)
    by_hand = tmp_path / "by-hand"
    shutil.copytree(root, by_hand)
    words = ("--write", "--native", "--config", str(config), str(by_hand))
    corrected = numalet("state", "rebase", *words)
    assert corrected.exit_code in (0, 1), corrected.output
    with NodeAgent(forks, root, "--config", str(config)) as agent:
        assert (by_hand / MEMORY).read_bytes() == (root / MEMORY).read_bytes()
        agent.await_running("pinned", "shared")
        assert (frozenset({2, 3}), frozenset({1})) == held(agent)
        assert agent.node_state() == agent.kernel()
    empty()
