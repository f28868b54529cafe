"""Every public value can be pickled and copied deeply, and comes back equal."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numalet

pytestmark = pytest.mark.property

CONFIG = {
    "cpuManagerPolicy": "static",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
    "reservedSystemCPUs": "0",
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
    "featureGates": {"CPUManagerPolicyOptions": True},
}
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: p{at}, labels: {{app: a}}}}
spec:
  nodeSelector: {{zone: a}}
  initContainers: [{{name: i, resources: {{limits: {{cpu: "1", memory: 64Mi}}}}}}]
  containers:
  - {{name: c, resources: {{limits: {{cpu: "{cpus}", memory: {memory}Mi, example.com/gpu: "1"}}}}}}
"""
TARBALL = Path(__file__).resolve().parents[1] / "machines" / "data" / "n2c4.tar.gz"
SHAPES = ("1n4c1t", "2n4c2t", "4n2c1t", "2s2n2c2t")
POLICIES = ("none", "best-effort", "restricted", "single-numa-node")


def copies(value: Any) -> Iterator[Any]:
    """The value after every way that it may travel."""
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        yield pickle.loads(pickle.dumps(value, protocol))
    yield copy.deepcopy(value)
    yield copy.copy(value)


@settings(max_examples=10)
@given(
    shape=st.sampled_from(SHAPES),
    policy=st.sampled_from(POLICIES),
    native=st.booleans(),
    sizes=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 90_000)), max_size=4),
)
def test_values_come_back_equal_and_decide_alike(
    shape: str, policy: str, native: bool, sizes: list[tuple[int, int]]
) -> None:
    loaded = numalet.open_machine(shape)
    config = numalet.decode_config({**CONFIG, "topologyManagerPolicy": policy}, "example")
    gpus = [numalet.Device("g0", numa_nodes=(0,)), numalet.Device("g1")]
    node = numalet.start_node(
        config,
        loaded,
        devices={"example.com/gpu": gpus},
        behaviour=numalet.NATIVE if native else numalet.EXACT,
    )
    assert isinstance(node, numalet.Node)
    values: list[Any] = [loaded, loaded.machine, loaded.info, config, node.rules, node]
    before = node
    for at, (cpus, memory) in enumerate(sizes):
        text = POD.format(at=at, cpus=cpus, memory=memory)
        (pod,) = numalet.read_pods(text, "example").pods
        before, (node, decision) = node, node.admit(pod)
        values += [pod, decision, node, node.snapshot]
        values += [numalet.diff_snapshots(before.snapshot, node.snapshot)]
        values += decision.placements.values()
        for copied in copies(before):
            assert copied.admit(pod)[1] == decision
            assert copied.state_files() == before.state_files()
    for value in values:
        for copied in copies(value):
            assert copied == value
            assert type(copied) is type(value)


def test_a_refused_start_and_bad_input_travel() -> None:
    machine = numalet.open_machine("2n2c").info
    refused = numalet.start_node(
        numalet.decode_config({"cpuManagerPolicy": "static"}, "x"), machine
    )
    assert isinstance(refused, numalet.StartRefused)
    for copied in copies(refused):
        assert copied == refused
    with pytest.raises(numalet.BadInput) as caught:
        numalet.decode_config({"maxPods": "many", "cpuManagerPolicy": 1}, "example")
    for copied in copies(caught.value):
        assert copied.findings == caught.value.findings
        assert str(copied) == str(caught.value)


def test_bad_input_as_a_text_is_its_sentences() -> None:
    with pytest.raises(numalet.BadInput) as caught:
        numalet.decode_config({"maxPods": "many", "cpuManagerPolicy": 1}, "example")
    assert len(caught.value.findings) == 2
    lines = [numalet.sentence(finding) for finding in caught.value.findings]
    assert str(caught.value).splitlines() == lines
    assert "maxPods" in lines[0] + lines[1]


def test_what_is_not_caught_ends_with_the_sentence() -> None:
    program = "import numalet; numalet.open_machine('2n0c')"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.stderr.splitlines()[-1].endswith(
        "BadInput: text='2n0c': invalid shape '2n0c': every number must be 1 or more"
    )


def test_machines_that_were_read_from_files_travel() -> None:
    for loaded in (numalet.open_machine(), numalet.open_machine(TARBALL)):
        for copied in copies(loaded):
            assert copied == loaded
            assert copied.notes == loaded.notes


@pytest.mark.parametrize("behaviour", [numalet.EXACT, numalet.NATIVE])
def test_hints_known_by_rule_travel(behaviour: numalet.Behaviour) -> None:
    fields = {
        **CONFIG,
        "topologyManagerPolicy": "best-effort",
        "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "16"},
    }
    config = numalet.decode_config(fields, "example")
    node = numalet.start_node(config, "16n4c2t", behaviour=behaviour)
    assert isinstance(node, numalet.Node), node
    limits = '{cpu: "20", memory: 200Gi}'
    (pod,) = numalet.read_pods(
        "{apiVersion: v1, kind: Pod, metadata: {name: a},"
        f" spec: {{containers: [{{name: c, resources: {{limits: {limits}}}}}]}}}}",
        "example",
    ).pods
    _, decision = node.admit(pod)
    for copied in copies(decision):
        assert copied.placements == decision.placements
        assert copied.alignments["c"].merged == decision.alignments["c"].merged


def test_state_files_stay_as_they_were_read() -> None:
    config = numalet.decode_config(CONFIG, "example")
    node = numalet.start_node(config, "2n4c2t")
    assert isinstance(node, numalet.Node)
    files = {name: f" {text}" for name, text in node.state_files().items()}
    again = numalet.restart_node(node, config, "2n4c2t", files)
    assert isinstance(again, numalet.Node)
    assert again.state_files() == files
    for copied in copies(again):
        assert copied.state_files() == files
