"""The kubelet's metrics of one admission, from its decision and its recording."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.agent.telemetry import admission_counts
from numalet.agent.telemetry import metrics as names
from numalet.agent.telemetry.metrics import ABOVE_ALL, Counts, Labels
from numalet.core.admission.decision import Collector
from numalet.core.config.behaviour import NATIVE
from numalet.core.config.releases import table
from numalet.core.config.rules import (
    CpuPolicy,
    CpuRules,
    MemoryPolicy,
    NodeRules,
    Scope,
    TopologyPolicy,
)
from numalet.core.model.pod import Pod, QosClass
from values import builders, cpu_builders, whole_pods
from values.builders import GI, aligned, container, init, machine, pod, rules, simple

NUMA_IN_CONTAINERS = (("scope", "container"), ("boundary", "numa_node"))
NUMA_IN_PODS = (("scope", "pod"), ("boundary", "numa_node"))
WHOLE_CORES = (("scope", "container"), ("boundary", "physical_cpu"))
BOTH = (names.ALIGNED, names.ALIGNMENT_FAILURES)
ONE_CACHE = (("scope", "container"), ("boundary", "uncore_cache"))
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


def _of_release(of: NodeRules, name: str) -> NodeRules:
    release = table.of_name(name)
    behaviour = replace(of.behaviour, release=release)
    return replace(of, behaviour=behaviour, release_rules=release.rules_with(lambda _: False))


def _names(of: NodeRules) -> set[str]:
    return {each.name for each in names.shown(of, is_observing=False)}


@pytest.mark.parametrize(
    ("scope", "series"), [(Scope.CONTAINER, NUMA_IN_CONTAINERS), (Scope.POD, NUMA_IN_PODS)]
)
def test_what_could_not_be_aligned_is_counted_in_releases_that_do_so(
    scope: Scope, series: Labels
) -> None:
    of = _of_release(rules(machine(10, 10), aligned(SINGLE, scope)), "1.33")
    at_start = admission_counts.at_start(of).values
    begins = {NUMA_IN_CONTAINERS, NUMA_IN_PODS}
    assert {(n, labels) for n in BOTH for labels in begins} == {*at_start}
    assert {0.0} == {*at_start.values()}
    counted = Counted(of)
    assert counted.admit(simple("big", "15Gi")).of(names.ALIGNMENT_FAILURES, series) == 1
    assert counted.admit(simple("small", "1Gi")).of(names.ALIGNMENT_FAILURES, series) == 1
    # Without any hint the policy lets it pass, and the Memory Manager refuses it.
    assert counted.admit(simple("bigger", "15Gi")).of(names.ALIGNMENT_FAILURES, series) == 1
    assert counted.of(names.ADMISSION_ERRORS) == [2]
    assert names.ALIGNMENT_FAILURES in _names(of)


def test_what_could_not_be_aligned_is_not_shown_before() -> None:
    of = rules(machine(10, 10), aligned(SINGLE))
    assert admission_counts.at_start(of) == Counts()
    assert names.ALIGNMENT_FAILURES not in _names(of)
    assert names.CPUS_BY_NODE not in _names(of)


def test_a_policy_that_guarantees_no_alignment_fails_at_none() -> None:
    of = _of_release(rules(machine(10, 10), aligned(TopologyPolicy.RESTRICTED)), "1.33")
    counts = Counted(of).admit(simple("big", "25Gi"))
    assert counts.of(names.ADMISSION_ERRORS) == 1
    assert counts.of(names.ALIGNMENT_FAILURES, NUMA_IN_CONTAINERS) == 0


def test_every_refusal_of_whole_cores_is_counted_as_a_failure() -> None:
    on = rules(cpu_builders.shape(1, 1, 4, 2), policy=MemoryPolicy.NONE)
    of = _of_release(_static(on, full_pcpus_only=True), "1.34")
    assert admission_counts.at_start(of).of(names.ALIGNMENT_FAILURES, WHOLE_CORES) == 0
    assert (names.ALIGNED, ONE_CACHE) in admission_counts.at_start(of).values
    counted = Counted(of)
    counted.admit(cpu_builders.simple("odd", "3"))
    counted.admit(cpu_builders.simple("even", "2"))
    counted.admit(cpu_builders.simple("large", "8"))
    assert counted.counts.of(names.ALIGNMENT_FAILURES, WHOLE_CORES) == 2
    assert counted.counts.of(names.ALIGNED, WHOLE_CORES) == 1


@pytest.mark.parametrize(("release", "count"), [("1.32", 0), ("1.33", 2), ("1.36", 2)])
def test_containers_in_one_cache_are_counted_in_releases_that_do_so(
    release: str, count: int
) -> None:
    # Without caches in the machine a socket counts as one.
    on = rules(cpu_builders.shape(2, 2, 4, 2), policy=MemoryPolicy.NONE)
    counted = Counted(_of_release(_static(on), release))
    for uid, cpus in (("a", "2"), ("b", "9"), ("c", "3")):
        assert counted.admit(cpu_builders.simple(uid, cpus)).of(names.ADMISSION_ERRORS) == 0
    assert counted.counts.of(names.ALIGNED, ONE_CACHE) == count


def test_a_native_agent_has_the_metrics_of_later_releases() -> None:
    of = rules(machine(10, 10), aligned(SINGLE))
    native = replace(of, behaviour=NATIVE)
    of_managers = {names.ALLOCATIONS, names.ALLOCATION_ERRORS, names.ASSIGNMENTS}
    of_pods = {names.POD_LEVEL_ADMISSIONS}
    later = {names.ALIGNMENT_FAILURES, names.CPUS_BY_NODE, *of_managers, *of_pods}
    assert later == _names(native) - _names(of)
    assert (names.ALIGNMENT_FAILURES, NUMA_IN_PODS) in admission_counts.at_start(native).values


def _whole(uid: str, **containers: str) -> Pod:
    """A pod of 4 CPUs and 2Gi in all; containers have whole CPUs of it, or share what is left."""
    parts = {
        name: whole_pods.asked(cpus, "512Mi") if cpus else None for name, cpus in containers.items()
    }
    return whole_pods.pod(uid, whole_pods.asked("4", "2Gi"), parts)


def _by_label(counts: Counts, name: str) -> dict[tuple[str, ...], float]:
    series = counts.values.items()
    return {tuple(dict(labels).values()): value for (n, labels), value in series if n == name}


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_shares_of_the_node_and_of_a_pod_are_told_apart(release: str) -> None:
    node = whole_pods.node(release=release)
    counted = Counted(node.rules)
    counted.node = node
    name = names.FORMER_NAMES if release == "1.36" else {each: each for each in names.FORMER_NAMES}
    others = {*names.FORMER_NAMES, *names.FORMER_NAMES.values()} - {*name.values()}
    assert not _names(node.rules) & others
    counted.admit(_whole("u", c0="2", c1="", c2="1"))
    plain = whole_pods.pod("v", None, {"c0": whole_pods.asked("2", "1Gi")})
    counted.admit(plain)
    counted.admit(_whole("w", c0="4", c1=""))
    counts = counted.counts
    assert _by_label(counts, name[names.ALLOCATIONS]) == {
        ("cpu", "pod"): 3,
        ("memory", "pod"): 3,
        ("cpu", "node"): 1,
        ("memory", "node"): 1,
    }
    assert _by_label(counts, name[names.ASSIGNMENTS]) == {
        ("cpu", "pod_exclusive"): 2,
        ("cpu", "pod_shared"): 1,
        ("memory", "pod_exclusive"): 2,
        ("memory", "pod_shared"): 1,
        ("cpu", "node_exclusive"): 1,
        ("memory", "node_exclusive"): 1,
    }
    assert _by_label(counts, name[names.ALLOCATION_ERRORS]) == {("cpu", "pod"): 1}
    assert name[names.ASSIGNMENTS] in _names(counted.node.rules)


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_admitted_pods_are_counted_by_where_their_resources_are(release: str) -> None:
    counted = Counted(whole_pods.node(release=release).rules)
    counted.node = whole_pods.node(release=release)
    asked = whole_pods.asked("2", "1Gi")
    for given in (
        _whole("u", c0="2"),
        _whole("v", c0=""),
        whole_pods.pod("w", None, {"c0": asked}),
        whole_pods.pod("x", None, {"c0": None}),
        _whole("large", c0="200"),
    ):
        counted.admit(given)
    wanted = {
        ("pod_and_container_level", "guaranteed"): 1,
        ("pod_level", "guaranteed"): 1,
        ("container_level", "guaranteed"): 1,
        ("", "besteffort"): 1,
    }
    is_counted = release == "1.37"
    found = _by_label(counted.counts, names.POD_LEVEL_ADMISSIONS)
    assert found == (wanted if is_counted else {})
    assert (names.POD_LEVEL_ADMISSIONS in _names(counted.node.rules)) is is_counted


@pytest.mark.parametrize(("release", "requests"), [("1.33", 1), ("1.34", 0), ("1.36", 0)])
def test_pods_that_are_passed_over_request_no_pinning(release: str, requests: int) -> None:
    node = whole_pods.node(whole_pods.config(gates={}), release)
    counted = Counted(node.rules)
    counted.node = node
    counted.admit(_whole("u", c0="2"))
    assert counted.of(names.CPU_REQUESTS, names.MEMORY_REQUESTS) == [requests, requests]
    assert not _names(node.rules) & {names.ALLOCATIONS, names.ASSIGNMENTS}
    assert _by_label(counted.counts, names.ALLOCATIONS) == {}


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("PodLevelResourcesNotSupported", "PodLevelResourcesNotSupported"),
        ("SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicyNotSupported"),
        ("OutOfexample.com/gpu", "OutOfExtendedResources"),
        ("EmptyPodSharedPoolError", "Other"),
    ],
)
def test_reasons_that_later_releases_know_are_counted_under_their_names(
    reason: str, label: str
) -> None:
    counts = admission_counts.after_rejection(Counts(), reason)
    assert counts.of(names.REJECTIONS, (("reason", label),)) == 1
