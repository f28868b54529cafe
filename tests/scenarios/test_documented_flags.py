"""The command lines of the documentation: what they mean, and which of them do not start."""

from __future__ import annotations

import pytest

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import BadInput
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.io.documents.kubelet.kubelet_config import Base, ConfigSources, load
from numalet.wording import kubelet_start
from scenarios.machines import two_nodes

CORRECT = (
    "--feature-gates=MemoryManager=true",
    "--kube-reserved=cpu=4,memory=4Gi",
    "--system-reserved=cpu=1,memory=1Gi",
    "--memory-manager-policy=Static",
    "--reserved-memory=0:memory=3Gi;1:memory=2148Mi",
)
"""The example that the documentation calls correct."""


def _config(*flags: str, base: Base = Base.EMPTY_FILE) -> KubeletConfig:
    split = [flag.split("=", 1) for flag in flags]
    flagged = [(name, value) for name, value in split]
    return load(ConfigSources(flags=flagged, base=base, release="1.32")).config


def _started(config: KubeletConfig) -> Node | StartRefused:
    return nodes.start(config, two_nodes(10, 10))


def _reserved(config: KubeletConfig) -> list[tuple[int, dict[str, str]]]:
    return [
        (entry.numa_node, {name: str(amount) for name, amount in entry.limits.items()})
        for entry in config.reserved_memory
    ]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (
            ["--reserved-memory=0:memory=1Gi,hugepages-1Gi=2Gi"],
            [(0, {"memory": "1Gi", "hugepages-1Gi": "2Gi"})],
        ),
        (
            ["--reserved-memory=0:memory=1Gi", "--reserved-memory=1:memory=2Gi"],
            [(0, {"memory": "1Gi"}), (1, {"memory": "2Gi"})],
        ),
        (
            ["--reserved-memory=0:memory=1Gi;1:memory=2Gi"],
            [(0, {"memory": "1Gi"}), (1, {"memory": "2Gi"})],
        ),
        (["--reserved-memory=0:hugepages-2Mi=2Mi"], [(0, {"hugepages-2Mi": "2Mi"})]),
    ],
)
def test_every_documented_form_of_reserved_memory_is_read(
    flags: list[str], expected: list[tuple[int, dict[str, str]]]
) -> None:
    assert expected == _reserved(_config(*flags))


def test_the_node_of_reserved_memory_is_an_integer() -> None:
    with pytest.raises(BadInput) as bad:
        _config("--reserved-memory=zero:memory=1Gi")
    problem = "failed to convert the NUMA node ID, exptected integer, got zero"
    assert problem == bad.value.findings[0].fields["problem"]


def test_the_amount_of_reserved_memory_is_a_quantity() -> None:
    with pytest.raises(BadInput) as bad:
        _config("--reserved-memory=0:memory=much")
    problem = "failed to parse the quantatity, expected quantatity, got much"
    assert problem == bad.value.findings[0].fields["problem"]


def test_the_documented_node_allocatable_flags_are_read() -> None:
    config = _config(
        "--kube-reserved=cpu=500m,memory=50Mi",
        "--system-reserved=cpu=123m,memory=333Mi",
        "--eviction-hard=memory.available<500Mi",
    )
    assert dict(config.kube_reserved) == {"cpu": "500m", "memory": "50Mi"}
    assert dict(config.system_reserved) == {"cpu": "123m", "memory": "333Mi"}
    assert dict(config.eviction_hard) == {"memory.available": "500Mi"}


def test_there_is_no_flag_eviction_threshold() -> None:
    refused = _started(_config("--eviction-threshold=500Mi"))
    assert isinstance(refused, StartRefused)
    (finding,) = refused.findings
    assert finding.code == "flag/unknown"
    assert finding.fields["flag"] == "--eviction-threshold"


def test_the_memory_manager_policy_is_chosen_by_flag() -> None:
    assert _config().memory_manager_policy == "None"
    assert _config("--memory-manager-policy=Static").memory_manager_policy == "Static"


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node"])
def test_every_topology_policy_is_chosen_by_flag(policy: str) -> None:
    started = _started(_config(f"--topology-manager-policy={policy}"))
    assert isinstance(started, Node)
    assert policy == started.rules.topology.policy.value


def test_policy_options_are_given_by_flag() -> None:
    options = "prefer-closest-numa-nodes=true,max-allowable-numa-nodes=9"
    config = _config(
        "--topology-manager-policy=restricted", f"--topology-manager-policy-options={options}"
    )
    started = _started(config)
    assert isinstance(started, Node)
    assert started.rules.topology.prefer_closest_numa_nodes
    assert started.rules.topology.node_limit == 9


def test_the_memory_manager_gate_may_still_be_set() -> None:
    gate = "--feature-gates=MemoryManager=true"
    assert isinstance(_started(_config(*CORRECT)), Node)
    assert isinstance(_started(_config(*[flag for flag in CORRECT if flag != gate])), Node)


def test_the_correct_flags_start_over_a_configuration_file() -> None:
    started = _started(_config(*CORRECT))
    assert isinstance(started, Node)
    reserved = started.rules.memory.system_reserved
    assert {node: reserved[node]["memory"] for node in reserved} == {0: 3 * 2**30, 1: 2148 * 2**20}


def test_the_correct_flags_do_not_start_a_flags_only_kubelet() -> None:
    refused = _started(_config(*CORRECT, base=Base.FLAGS_ONLY))
    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.MEMORY_MANAGER
    text = kubelet_start.text(refused)
    assert text == (
        'the total amount "5220Mi" of type "memory" is not equal to the value "5Gi" '
        "determined by Node Allocatable feature"
    )


def test_flags_only_kubelet_has_no_eviction_default() -> None:
    assert _config(base=Base.FLAGS_ONLY).eviction_hard == {}
    assert _config().eviction_hard["memory.available"] == "100Mi"
