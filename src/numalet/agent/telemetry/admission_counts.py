"""Updates the kubelet's metrics after an admission, from its decision and recorded events.

Managers count nothing: the recording has every call of ``allocate``. As in the kubelet, containers
aligned before a later one of the same pod was refused stay counted. Kubelet: ``scope.go``,
``policy_static.go`` of both managers, ``kubelet.recordAdmissionRejection``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from numalet.agent.telemetry import metrics as names
from numalet.agent.telemetry.metrics import Counts, Labels
from numalet.core.admission import counting, scopes
from numalet.core.admission.decision import Allocated, Decision, Event, RefusedAllocation
from numalet.core.admission.reasons import NotAligned
from numalet.core.config.rules import CpuPolicy, MemoryPolicy, NodeRules, Scope, TopologyPolicy
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.model import resources
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.pod import Pod, QosClass

_Call: TypeAlias = Allocated | RefusedAllocation

_CPU: Final = "cpu"
_NODE: Final = "node"
_POD: Final = "pod"
_NODE_OF_CONTAINER: Final[Labels] = (("scope", "container"), ("boundary", "numa_node"))
_NODE_OF_POD: Final[Labels] = (("scope", "pod"), ("boundary", "numa_node"))
_WHOLE_CORES: Final[Labels] = (("scope", "container"), ("boundary", "physical_cpu"))
_ONE_CACHE: Final[Labels] = (("scope", "container"), ("boundary", "uncore_cache"))
_LAST_PROVIDER: Final = {OperatingSystem.LINUX: "memory", OperatingSystem.WINDOWS: "device"}

# Reasons with their own label; all others are "Other".
_COUNTED_REASONS: Final = frozenset(
    {
        "AppArmor",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "PodOSNotSupported",
        "InvalidNodeInfo",
        "InitContainerRestartPolicyForbidden",
        "SupplementalGroupsPolicyNotSupported",
        "UnexpectedAdmissionError",
        "UnknownReason",
        "UnexpectedPredicateFailureType",
        "OutOfcpu",
        "OutOfmemory",
        "OutOfephemeral-storage",
        "OutOfpods",
        "PodLevelResourcesNotSupported",
        "PodFeatureUnsupported",
        "node(s) had taints that the pod didn't tolerate",
        "Evicted",
        "SysctlForbidden",
        "TopologyAffinityError",
        "NodeShutdown",
    }
)
_OUT_OF: Final = "OutOf"


def at_start(rules: NodeRules) -> Counts:
    """Series that exist before their first event.

    Kubelet: ``manager.initializeMetrics``, ``staticPolicy.initializeMetrics``, v1.33.
    """
    if rules.managers_are_stand_ins or not _counts_failures(rules):
        return Counts()
    both, aligned = (names.ALIGNED, names.ALIGNMENT_FAILURES), (names.ALIGNED,)
    series: list[tuple[tuple[str, ...], Labels]] = []
    if rules.topology.policy is not TopologyPolicy.NONE:
        series += [(both, _NODE_OF_CONTAINER), (both, _NODE_OF_POD)]
    if rules.cpu.policy is CpuPolicy.STATIC:
        series += [(both, _WHOLE_CORES), (aligned, _ONE_CACHE)]
    return Counts({(name, labels): 0.0 for named, labels in series for name in named})


def after_admission(
    counts: Counts,
    rules: NodeRules,
    decision: Decision,
    events: Iterable[Event],
    duration_seconds: float,
) -> Counts:
    """The counts after a decision with this duration."""
    counts = counts.observed(names.DECISION_SECONDS, names.DECISION_BOUNDS, duration_seconds)
    # Stand-ins are not the kubelet's managers, so only numalet's own metric counts.
    if rules.managers_are_stand_ins:
        return counts
    # The kubelet observes whole milliseconds.
    milliseconds = int(duration_seconds * 1000)
    counts = counts.plus(names.ADMISSIONS).observed(
        names.ADMISSION_DURATION, names.DURATION_BOUNDS_MS, milliseconds
    )
    own = rules.behaviour.metrics_of_its_release_alone
    if decision.rejection is None and (
        rules.release_rules.pod_level_admissions_are_counted or not own
    ):
        counts = counts.plus(names.POD_LEVEL_ADMISSIONS, _modes(decision.pod))
    # The managers skip some pods, depending on the release, whatever their containers request.
    pod = counting.for_managers(decision.pod, rules.release_rules)
    for event in events:
        if isinstance(event, Allocated | RefusedAllocation):
            counts = _after_call(counts, rules, pod, event)
    # The none policy counts admissions but neither errors nor alignment.
    if rules.topology.policy is TopologyPolicy.NONE:
        return counts
    is_single = rules.topology.policy is TopologyPolicy.SINGLE_NUMA_NODE
    of_policy = _NODE_OF_POD if rules.topology.scope is Scope.POD else _NODE_OF_CONTAINER
    if not decision.managers_admitted:
        if is_single and isinstance(decision.rejection, NotAligned):
            counts = counts.plus(names.ALIGNMENT_FAILURES, of_policy)
        return counts.plus(names.ADMISSION_ERRORS)
    if is_single and rules.topology.scope is Scope.POD:
        counts = counts.plus(names.ALIGNED, of_policy)
    return counts


def _modes(pod: Pod) -> Labels:
    """Where the pod has resources, and its QoS class.

    Kubelet: ``recordPodLevelResourcesAdmission``, v1.37.
    """
    whole = pod.pod_level
    parts = ["pod"] if whole is not None and (whole.requests or whole.limits) else []
    if any(each.requests or each.limits for each in pod.containers()):
        parts.append("container")
    mode = f"{'_and_'.join(parts)}_level" if parts else ""
    return (("config_mode", mode), ("qos_class", pod.qos_class.value.lower()))


def after_rejection(counts: Counts, reason: str) -> Counts:
    """The counts after a new pod was rejected with this ``status.reason``."""
    return counts.plus(names.REJECTIONS, (("reason", rejection_label(reason)),))


def rejection_label(reason: str) -> str:
    """The kubelet's label for a reason."""
    if reason in _COUNTED_REASONS:
        return reason
    return "OutOfExtendedResources" if reason.startswith(_OUT_OF) else "Other"


def _after_call(counts: Counts, rules: NodeRules, pod: Pod, call: _Call) -> Counts:
    refused = isinstance(call, RefusedAllocation)
    if _counts_sources(rules) and _is_served(rules, pod, call):
        is_whole = scopes.is_placed_at_once(rules, pod)
        counts = _with_source(counts, rules, pod, call, is_whole=is_whole)
    if call.provider == "memory" and _pins_memory(rules, pod):
        counts = _requested(counts, names.MEMORY_REQUESTS, names.MEMORY_ERRORS, refused)
    if call.provider == _CPU and _pins_cpus(rules, pod, call):
        counts = _requested(counts, names.CPU_REQUESTS, names.CPU_ERRORS, refused)
        # Every CPU pinning error is a failed alignment, even if the node was simply full.
        if rules.cpu.full_pcpus_only:
            name = names.ALIGNMENT_FAILURES if refused else names.ALIGNED
            counts = counts.plus(name, _WHOLE_CORES)
        if isinstance(call, Allocated) and _is_in_one_cache(rules, pod, call):
            counts = counts.plus(names.ALIGNED, _ONE_CACHE)
    # The last provider's success means that all managers served the container.
    is_complete = not refused and call.provider == _LAST_PROVIDER[rules.machine.os]
    if is_complete and _aligns_containers(rules):
        counts = counts.plus(names.ALIGNED, _NODE_OF_CONTAINER)
    return counts


def _counts_sources(rules: NodeRules) -> bool:
    own, of = rules.behaviour.metrics_of_its_release_alone, rules.release_rules
    is_counted = of.sources_of_allocations_are_counted or of.allocation_metrics_have_the_prefix
    return is_counted or not own


def _is_served(rules: NodeRules, pod: Pod, call: _Call) -> bool:
    """Whether a static policy had something to allocate."""
    if scopes.is_placed_at_once(rules, pod) and call.provider != "device":
        return pod.qos_class is QosClass.GUARANTEED
    if call.provider == _CPU:
        return _pins_cpus(rules, pod, call)
    return call.provider == "memory" and _pins_memory(rules, pod)


def _requested(counts: Counts, requests: str, errors: str, refused: bool) -> Counts:
    counts = counts.plus(requests)
    return counts.plus(errors) if refused else counts


def _pins_memory(rules: NodeRules, pod: Pod) -> bool:
    return rules.memory.policy is not MemoryPolicy.NONE and pod.qos_class is QosClass.GUARANTEED


def _pins_cpus(rules: NodeRules, pod: Pod, call: _Call) -> bool:
    static = rules.cpu.policy is CpuPolicy.STATIC
    return static and cpu_demand.of_container(pod, call.container) > 0


def _aligns_containers(rules: NodeRules) -> bool:
    topology = rules.topology
    single = topology.policy is TopologyPolicy.SINGLE_NUMA_NODE
    return single and topology.scope is Scope.CONTAINER


def _counts_failures(rules: NodeRules) -> bool:
    own = rules.behaviour.metrics_of_its_release_alone
    return rules.release_rules.failed_alignments_are_counted or not own


def _is_in_one_cache(rules: NodeRules, pod: Pod, call: Allocated) -> bool:
    """Whether a container now got CPUs of a single uncore cache.

    Kubelet: ``CPUTopology.CheckAlignment``, v1.33.
    """
    own = rules.behaviour.metrics_of_its_release_alone
    if own and not rules.release_rules.containers_in_one_cache_are_counted:
        return False
    name = call.container.name
    got = call.after.cpu.cpus_of(pod.uid, name)
    # A repeated call for CPUs that it already had is not counted.
    if got is None or call.before.cpu.cpus_of(pod.uid, name) is not None:
        return False
    caches = {
        core.socket_id if core.uncore_cache_id is None else core.uncore_cache_id
        for node in rules.machine.nodes
        for core in node.cores
        if got.intersection(core.threads)
    }
    return len(caches) == 1


def _with_source(
    counts: Counts, rules: NodeRules, pod: Pod, call: _Call, *, is_whole: bool
) -> Counts:
    """Count whether an allocation came from the node or from the pod's own share.

    Kubelet: ``staticPolicy.Allocate`` and ``AllocatePod`` of both managers, v1.36.

    ``pod`` as the managers see it; ``is_whole`` if the pod was placed as a whole.
    """
    if isinstance(call, RefusedAllocation):
        source = _POD if is_whole else _NODE
        errors = _name(rules, names.ALLOCATION_ERRORS)
        return counts.plus(errors, _labels(call.provider, "source", source))
    size = _allocations(pod, call)
    if not size:
        return counts
    name, provider = call.container.name, call.provider
    allocations = _name(rules, names.ALLOCATIONS)
    if not is_whole:
        # Memory counts once per type, so ``size`` may exceed 1.
        of_node = _labels(provider, "source", _NODE)
        counts = counts.plus(allocations, of_node, size)
        kind = "node_exclusive"
    else:
        counts = counts.plus(allocations, _labels(provider, "source", _POD))
        kind = "pod_exclusive" if _is_exclusive(pod, name, provider) else "pod_shared"
    assignments = _name(rules, names.ASSIGNMENTS)
    return counts.plus(assignments, _labels(provider, "assignment_type", kind))


def _name(rules: NodeRules, name: str) -> str:
    own = rules.behaviour.metrics_of_its_release_alone
    is_former = own and rules.release_rules.sources_of_allocations_are_counted
    return names.FORMER_NAMES[name] if is_former else name


def _allocations(pod: Pod, call: Allocated) -> int:
    """How many resources the container newly got."""
    uid, name = pod.uid, call.container.name
    if call.provider == _CPU:
        before, after = call.before.cpu, call.after.cpu
        return int(before.cpus_of(uid, name) is None and after.cpus_of(uid, name) is not None)
    had, has = (each.memory.blocks_of(uid, name) for each in (call.before, call.after))
    return 0 if had is not None or has is None else len({block.resource for block in has})


def _is_exclusive(pod: Pod, name: str, provider: str) -> bool:
    """Whether the container's share of its pod is exclusive."""
    container = pod.by_name[name]
    if provider == _CPU:
        return cpu_demand.of_container(pod, container) > 0
    asked = container.requests.get(resources.MEMORY)
    return asked is not None and asked.sign > 0


def _labels(resource: str, label: str, value: str) -> Labels:
    return (("resource_name", resource), (label, value))
