"""The kubelet's log lines of one admission, from its decision and its recording."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numalet.agent.telemetry import kubelet_log
from numalet.core.admission.decision import Collector
from numalet.core.config.releases import table
from numalet.core.config.rules import (
    CpuPolicy,
    CpuRules,
    MemoryPolicy,
    NodeRules,
    Scope,
    TopologyPolicy,
)
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.wording.log_line import LogLine
from values import builders, cpu_builders, device_bench
from values.builders import aligned, container, machine, pod, rules, simple

RESTRICTED = TopologyPolicy.RESTRICTED


def _told(node: Node, pod: Pod) -> list[LogLine]:
    recording = Collector()
    _, decision = node.admit(pod, recording)
    return kubelet_log.of_admission(node.rules, decision, recording.events)


def _on(of: NodeRules, pod: Pod) -> list[LogLine]:
    return _told(builders.node(of), pod)


def _messages(lines: list[LogLine]) -> list[str]:
    return [line.message for line in lines]


def _keys(lines: list[LogLine], message: str) -> Any:
    return [dict(line.keys) for line in lines if line.message == message]


def test_an_admission_in_container_scope_reads_as_the_kubelets() -> None:
    lines = _on(rules(machine(10, 10), aligned(RESTRICTED)), simple("u", "15Gi"))
    nobody = "Hint Provider has no preference for NUMA affinity with any resource"
    assert _messages(lines) == [
        "TopologyHints",
        "TopologyHints",
        "TopologyHints",
        nobody,
        nobody,
        "ContainerTopologyHint",
        "Best TopologyHint",
        "Topology Affinity",
        "Allocate",
        "Got topology affinity",
        "Updated memory state",
        "Pod admitted",
    ]
    best = {"NUMANodeAffinity": 3, "Preferred": True}
    about = {"pod": "default/u", "containerName": "c"}
    assert _keys(lines, "TopologyHints")[2] == {"hints": {"memory": [best]}, **about}
    assert _keys(lines, "Best TopologyHint") == [{"bestHint": best, **about}]
    assert _keys(lines, "Topology Affinity") == [{"bestHint": best, **about}]
    assert _keys(lines, "Got topology affinity") == [{**about, "podUID": "u", "hint": best}]
    assert _keys(lines, "Updated memory state") == [{"podUID": "u", "containerName": "c"}]
    blocks = [{"type": "memory", "numaNodes": [0, 1], "sizeBytes": 15 << 30}]
    held = {"cpus": [], "numaNodes": [0, 1], "memory": blocks, "devices": {}}
    assert _keys(lines, "Pod admitted")[0]["placements"] == {"c": held}


def test_in_pod_scope_the_pod_is_asked_once_and_every_container_told() -> None:
    of = rules(machine(10, 10), aligned(RESTRICTED, Scope.POD))
    lines = _on(of, pod("u", container("a", "2Gi"), container("b", "2Gi")))
    assert len(_keys(lines, "PodTopologyHint")) == 1
    assert "containerName" not in _keys(lines, "TopologyHints")[0]
    assert "containerName" not in _keys(lines, "Best TopologyHint")[0]
    assert [keys["containerName"] for keys in _keys(lines, "Topology Affinity")] == ["a", "b"]


def test_a_refusal_by_the_policy_has_no_affinity_and_the_kubelets_verdict() -> None:
    of = rules(machine(10, 10), aligned(TopologyPolicy.SINGLE_NUMA_NODE))
    lines = _on(of, simple("u", "15Gi"))
    assert not {"Topology Affinity", "Allocate"} & set(_messages(lines))
    assert lines[-1].message == "Pod admission denied"
    assert lines[-1].keys["reason"] == "TopologyAffinityError"


def test_a_refusal_by_the_memory_manager_is_an_error() -> None:
    lines = _on(rules(machine(10)), simple("u", "25Gi"))
    (error,) = [line for line in lines if line.is_error]
    assert error.message == "Allocate error"
    assert "no NUMA nodes with enough memory is available" in error.keys["err"]
    assert _keys(lines, "Got topology affinity")[0]["hint"] == {
        "NUMANodeAffinity": None,
        "Preferred": False,
    }


def test_a_container_with_memory_is_skipped() -> None:
    node, _ = builders.node(rules(machine(10))).admit(simple("u", "1Gi"))
    assert "Container already present in state, skipping" in _messages(
        _told(node, simple("u", "1Gi"))
    )


def test_the_memory_manager_says_nothing_of_other_pods_or_without_a_policy() -> None:
    burstable = pod("u", container("c", "1Gi"), qos=QosClass.BURSTABLE)
    assert "Allocate" not in _messages(_on(rules(machine(10)), burstable))
    without = rules(machine(10), policy=MemoryPolicy.NONE)
    assert "Allocate" not in _messages(_on(without, simple("u", "1Gi")))


def test_what_is_cleaned_up_is_reported_first() -> None:
    node, _ = builders.node(rules(machine(10))).admit(simple("u", "1Gi"))
    lines = _told(node.remove("u"), simple("v", "1Gi"))
    assert _messages(lines)[:2] == ["RemoveStaleState removing state", "Deleted memory assignment"]
    assert lines[0].keys == {"podUID": "u", "containerName": "c"}
    assert (lines[0].level, lines[1].level) == (0, 2)


def test_impossible_and_indifferent_resources_are_named() -> None:
    cpu = CpuRules(policy=CpuPolicy.STATIC, reserved_count=1, reserved_cpus=frozenset({0}))
    of = replace(
        rules(cpu_builders.shape(1, 1, 2, 1), aligned(RESTRICTED), policy=MemoryPolicy.NONE),
        cpu=cpu,
    )
    node = builders.node(of).devices_reported({"example.com/gpu": device_bench.devices("a")})
    one = Quantity.parse("1")
    asked = {"cpu": Quantity.parse("9"), "memory": Quantity.parse("1Mi"), "example.com/gpu": one}
    lines = _told(node, pod("u", Container("c", requests=asked, limits=asked)))
    assert _keys(lines, "TopologyHints")[0]["hints"] == {"example.com/gpu": None}
    resource = "Hint Provider has no preference for NUMA affinity with resource"
    assert _keys(lines, resource) == [{"resource": "example.com/gpu"}]
    impossible = "Hint Provider has no possible NUMA affinities for resource"
    assert _keys(lines, impossible) == [{"resource": "cpu"}]


def test_many_numa_nodes_are_not_listed_set_by_set() -> None:
    topology = replace(aligned(RESTRICTED), node_limit=30)
    lines = _on(rules(machine(*[4] * 30), topology), simple("u", "2Gi"))
    hints = _keys(lines, "TopologyHints")[2]["hints"]["memory"]
    assert [each["NUMANodeAffinity"] for each in hints] == [1 << at for at in range(30)]


def test_a_start_tells_policies_and_options() -> None:
    of = rules(machine(10), aligned(RESTRICTED))
    topology, memory = kubelet_log.of_start(of)
    assert topology.keys == {
        "topologyPolicyName": "restricted",
        "topologyScopeName": "container",
        "topologyPolicyOptions": {"PreferClosestNUMA": False, "MaxAllowableNUMANodes": 8},
    }
    assert (memory.message, memory.keys) == ("Starting memorymanager", {"policy": "Static"})
    (line,) = kubelet_log.of_start(rules(machine(10), policy=MemoryPolicy.NONE))
    assert line.message == "Creating topology manager with none policy"


def test_the_memory_of_a_container_is_reported_at_its_start() -> None:
    (line,) = kubelet_log.of_start_of_container(simple("u", "1Gi"), "c", (0, 1))
    assert line.message == "Memory affinity"
    assert line.keys["numaNodes"] == {"0": {}, "1": {}}
    assert kubelet_log.of_start_of_container(simple("u", "1Gi"), "c", ()) == []


def test_every_write_of_a_cpuset_is_reported() -> None:
    lines = kubelet_log.of_cpuset(simple("u", "1Gi"), "c", frozenset({1, 2, 3}), (0,))
    assert [dict(line.keys) for line in lines] == [
        {"pod": "default/u", "containerName": "c", "cpuset.cpus": "1-3"},
        {"pod": "default/u", "containerName": "c", "cpuset.mems": "0"},
    ]
    assert kubelet_log.of_cpuset(simple("u", "1Gi"), "c", None, None) == []


def _later(of: NodeRules) -> NodeRules:
    return replace(of, release_rules=table.of_name("1.33").rules_with(lambda _: False))


def test_later_releases_name_the_pod_and_say_more_at_level_four() -> None:
    of = _later(rules(machine(10, 10), aligned(RESTRICTED)))
    lines = _on(of, simple("u", "15Gi"))
    about = {"pod": "default/u", "containerName": "c"}
    best = {"NUMANodeAffinity": 3, "Preferred": True}
    assert _keys(lines, "ContainerTopologyHint") == [{"bestHint": best, **about}]
    first, result = lines[0], lines[-2]
    assert (first.message, first.level) == ("Topology manager admission check", 4)
    assert first.keys == {"pod": "default/u"}
    assert (result.message, result.level) == ("Pod Admit Result", 4)
    assert result.keys == {"Message": "", "pod": "default/u"}
    refused = _on(_later(rules(machine(10), aligned(RESTRICTED))), simple("u", "25Gi"))
    assert "[memorymanager]" in _keys(refused, "Pod Admit Result")[0]["Message"]
    pods = _on(_later(rules(machine(10), aligned(RESTRICTED, Scope.POD))), simple("u", "1Gi"))
    assert {*_keys(pods, "PodTopologyHint")[0]} == {"bestHint", "pod"}
    started = [each for each in kubelet_log.of_start(of) if each.level == 4]
    assert _messages(started) == ["CPU manager started", "memorymanager started"]
    none = kubelet_log.of_start(_later(rules(machine(10), policy=MemoryPolicy.NONE)))
    assert "memorymanager started" not in _messages(none)


def test_what_is_forgotten_is_said_at_level_two_by_later_releases() -> None:
    node, _ = builders.node(_later(rules(machine(10)))).admit(simple("u", "1Gi"))
    lines = _told(node.remove("u"), simple("v", "1Gi"))
    stale = [each for each in lines if each.message == "RemoveStaleState removing state"]
    assert [each.level for each in stale] == [2]
