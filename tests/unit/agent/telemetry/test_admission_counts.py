"""The kubelet's metrics of one admission, from its decision and its recording."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.agent.telemetry import admission_counts
from numalet.agent.telemetry import metric_definitions as names
from numalet.agent.telemetry.metrics import ABOVE_ALL, Counts
from numalet.core.admission.collector import Collector
from numalet.core.config.rules import (
    CpuPolicy,
    CpuRules,
    MemoryPolicy,
    NodeRules,
    Scope,
    TopologyPolicy,
)
from numalet.core.model.pod import Pod, QosClass
from values import builders, cpu_builders
from values.builders import GI, aligned, container, init, machine, pod, rules, simple

NUMA_IN_CONTAINERS = (("scope", "container"), ("boundary", "numa_node"))
NUMA_IN_PODS = (("scope", "pod"), ("boundary", "numa_node"))
WHOLE_CORES = (("scope", "container"), ("boundary", "physical_cpu"))
SINGLE = TopologyPolicy.SINGLE_NUMA_NODE


class Counted:
    """A node that counts its admissions."""

    def __init__(self, of: NodeRules) -> None:
        self.node = builders.node(of)
        self.counts = Counts()

    def admit(self, pod: Pod, seconds: float = 0.0) -> Counts:
        recording = Collector()
        self.node, decision = self.node.admit(pod, recording)
        self.counts = admission_counts.after_admission(
            self.counts, self.node.rules, decision, recording.events, seconds
        )
        return self.counts

    def of(self, *wanted: str) -> list[float]:
        return [self.counts.of(name) for name in wanted]


def _static(of: NodeRules, **options: bool) -> NodeRules:
    cpu = CpuRules(
        policy=CpuPolicy.STATIC, reserved_count=1, reserved_cpus=frozenset({0}), **options
    )
    return replace(of, cpu=cpu)


def test_the_documented_simulation_counts_as_in_the_kubelet() -> None:
    on = rules(machine(11, 11), aligned(TopologyPolicy.RESTRICTED), reserved_bytes={0: GI, 1: GI})
    counted = Counted(on)
    counted.admit(simple("pod1", "15Gi"))
    counted.admit(simple("pod2", "5Gi"))
    counted.admit(pod("pod3", container("c", "1Gi"), qos=QosClass.BURSTABLE))
    counted.node = counted.node.remove("pod1")
    for uid, memory in (("pod4", "2Gi"), ("pod5", "6Gi"), ("pod6", "3Gi"), ("pod7", "8Gi")):
        counted.admit(simple(uid, memory))
    assert counted.of(names.MEMORY_REQUESTS, names.MEMORY_ERRORS) == [5, 1]
    assert counted.of(names.ADMISSIONS, names.ADMISSION_ERRORS) == [7, 2]


def test_containers_are_counted_and_not_pods() -> None:
    counted = Counted(rules(machine(10, 10), aligned(TopologyPolicy.BEST_EFFORT)))
    counted.admit(pod("u", init("i", "1Gi"), container("a", "1Gi"), container("b", "1Gi")))
    assert counted.of(names.MEMORY_REQUESTS) == [3]


def test_no_memory_policy_pins_nothing() -> None:
    counted = Counted(rules(machine(10), policy=MemoryPolicy.NONE))
    counted.admit(simple("u", "1Gi"))
    assert counted.of(names.MEMORY_REQUESTS, names.ADMISSIONS) == [0, 1]


def test_a_refusal_under_the_policy_none_is_no_admission_error() -> None:
    counted = Counted(rules(machine(10)))
    counted.admit(simple("u", "25Gi"))
    assert counted.of(names.MEMORY_ERRORS, names.ADMISSION_ERRORS) == [1, 0]


def test_whole_cpus_of_guaranteed_pods_are_pinned() -> None:
    counted = Counted(_static(rules(machine(10, 10))))
    counted.admit(simple("first", "1Gi"))
    counted.admit(pod("burstable", container("c", "1Gi"), qos=QosClass.BURSTABLE))
    assert counted.of(names.CPU_REQUESTS, names.CPU_ERRORS) == [1, 0]
    for uid in ("second", "third", "fourth"):
        counted.admit(simple(uid, "1Gi"))
    assert counted.of(names.CPU_REQUESTS, names.CPU_ERRORS) == [4, 1]
    assert counted.counts.of(names.ALIGNED, WHOLE_CORES) == 0


def test_whole_cores_are_counted_where_they_are_asked_for() -> None:
    on = replace(rules(cpu_builders.shape(1, 1, 4, 1)), memory=builders.rules(machine(1)).memory)
    counted = Counted(_static(on, full_pcpus_only=True))
    counted.admit(simple("u", "1Mi"))
    for uid in ("v", "w", "x"):
        counted.admit(simple(uid, "1Mi"))
    assert counted.counts.of(names.ALIGNED, WHOLE_CORES) == 3
    assert counted.of(names.CPU_ERRORS) == [1]


def test_aligned_containers_before_a_refused_one_stay_counted() -> None:
    counted = Counted(rules(machine(10, 10), aligned(SINGLE)))
    refused = pod("u", container("a", "4Gi"), container("b", "15Gi"))
    counted.admit(refused)
    assert counted.counts.of(names.ALIGNED, NUMA_IN_CONTAINERS) == 1
    counted.admit(pod("v", container("a"), qos=QosClass.BEST_EFFORT))
    assert counted.counts.of(names.ALIGNED, NUMA_IN_CONTAINERS) == 2
    assert counted.counts.of(names.ALIGNED, NUMA_IN_PODS) == 0


def test_pods_are_counted_as_aligned_in_pod_scope() -> None:
    counted = Counted(rules(machine(10, 10), aligned(SINGLE, Scope.POD)))
    counted.admit(pod("u", container("a", "4Gi"), container("b", "4Gi")))
    counted.admit(simple("v", "15Gi"))
    assert counted.counts.of(names.ALIGNED, NUMA_IN_PODS) == 1
    assert counted.counts.of(names.ALIGNED, NUMA_IN_CONTAINERS) == 0


def test_other_policies_count_nothing_as_aligned() -> None:
    counted = Counted(rules(machine(10, 10), aligned(TopologyPolicy.BEST_EFFORT)))
    counted.admit(simple("u", "1Gi"))
    assert not [name for name, _ in counted.counts.values if name == names.ALIGNED]


def test_stand_ins_count_nothing_but_our_own() -> None:
    counted = Counted(replace(rules(machine(10)), managers_are_stand_ins=True))
    counted.admit(simple("u", "1Gi"))
    assert counted.of(names.ADMISSIONS, names.DECISION_SECONDS + "_count") == [0, 1]


def test_the_duration_is_cut_to_whole_milliseconds() -> None:
    counted = Counted(rules(machine(10)))
    for seconds in (0.0009, 0.0021, 900.0):
        counted.admit(simple("u", "1Gi"), seconds)
    bucket = names.ADMISSION_DURATION + "_bucket"
    assert counted.counts.of(bucket, (("le", "0.05"),)) == 1
    assert counted.counts.of(bucket, (("le", "3.2"),)) == 1
    assert counted.counts.of(bucket, (("le", ABOVE_ALL),)) == 1
    assert counted.of(names.ADMISSION_DURATION + "_sum") == [900_002]


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("TopologyAffinityError", "TopologyAffinityError"),
        ("UnexpectedAdmissionError", "UnexpectedAdmissionError"),
        ("OutOfmemory", "OutOfmemory"),
        ("OutOfexample.com/gpu", "OutOfExtendedResources"),
        ("SMTAlignmentError", "Other"),
        ("NodeAffinity", "Other"),
    ],
)
def test_rejections_are_counted_under_the_kubelets_labels(reason: str, label: str) -> None:
    counts = admission_counts.after_rejection(Counts(), reason)
    assert counts.values == {(names.REJECTIONS, (("reason", label),)): 1}
