"""What one admission adds to the kubelet's metrics, derived from its decision and its recording.

No manager counts anything: every call of ``allocate`` is in the recording, as an allocation or as
a refusal, and so is its container.

    metric                          one more for
    memory pinning requests         each allocate of a container of a Guaranteed pod, with a policy
    memory pinning errors           those of them that were refused
    CPU pinning requests, errors    likewise, each allocate of a container that asks for whole CPUs
    admission requests, duration    each admission, whatever the policy
    admission errors                each rejection, but not under the topology policy none
    aligned, scope container        single-numa-node: each container that all managers served
    aligned, scope pod              single-numa-node: each admitted pod
    aligned, physical_cpu           full-pcpus-only: each container that got whole cores
    rejections                      each rejection of a new pod (``after_rejection``)

Containers that were aligned before a later container of the same pod was refused stay counted.
Kubelet: ``scope.go``, ``policy_static.go`` of both managers, ``kubelet.recordAdmissionRejection``,
v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from numalet.agent.telemetry import metric_definitions as names
from numalet.agent.telemetry.metrics import Counts, Labels
from numalet.core.admission.collector import Allocated, Event, RefusedAllocation
from numalet.core.admission.decision import Decision
from numalet.core.config.rules import CpuPolicy, MemoryPolicy, NodeRules, Scope, TopologyPolicy
from numalet.core.managers.cpu import demand as cpu_demand
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.pod import Pod, QosClass

_Call: TypeAlias = Allocated | RefusedAllocation

_NUMA_NODE: Final = "numa_node"
_LAST_PROVIDER: Final = {OperatingSystem.LINUX: "memory", OperatingSystem.WINDOWS: "device"}

# The reasons that the kubelet counts under their own name; others are "Other".
_COUNTED_REASONS: Final = frozenset(
    {
        "AppArmor",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "PodOSNotSupported",
        "InvalidNodeInfo",
        "InitContainerRestartPolicyForbidden",
        "UnexpectedAdmissionError",
        "UnknownReason",
        "UnexpectedPredicateFailureType",
        "OutOfcpu",
        "OutOfmemory",
        "OutOfephemeral-storage",
        "OutOfpods",
        "node(s) had taints that the pod didn't tolerate",
        "Evicted",
        "SysctlForbidden",
        "TopologyAffinityError",
        "NodeShutdown",
    }
)
_OUT_OF: Final = "OutOf"


def after_admission(
    counts: Counts,
    rules: NodeRules,
    decision: Decision,
    events: Iterable[Event],
    duration_seconds: float,
) -> Counts:
    """The counts after this decision, which took so long."""
    counts = counts.observed(names.DECISION_SECONDS, names.DECISION_BOUNDS, duration_seconds)
    if rules.managers_are_stand_ins:
        return counts
    milliseconds = int(duration_seconds * 1000)
    counts = counts.plus(names.ADMISSIONS).observed(
        names.ADMISSION_DURATION, names.DURATION_BOUNDS_MS, milliseconds
    )
    for event in events:
        if isinstance(event, Allocated | RefusedAllocation):
            counts = _after_call(counts, rules, decision.pod, event)
    if rules.topology.policy is TopologyPolicy.NONE:
        return counts
    if not decision.managers_admitted:
        return counts.plus(names.ADMISSION_ERRORS)
    is_single = rules.topology.policy is TopologyPolicy.SINGLE_NUMA_NODE
    if is_single and rules.topology.scope is Scope.POD:
        counts = counts.plus(names.ALIGNED, _aligned("pod", _NUMA_NODE))
    return counts


def after_rejection(counts: Counts, reason: str) -> Counts:
    """The counts after a new pod was rejected with this ``status.reason``."""
    return counts.plus(names.REJECTIONS, (("reason", rejection_label(reason)),))


def rejection_label(reason: str) -> str:
    """The label under which the kubelet counts a reason."""
    if reason in _COUNTED_REASONS:
        return reason
    return "OutOfExtendedResources" if reason.startswith(_OUT_OF) else "Other"


def _after_call(counts: Counts, rules: NodeRules, pod: Pod, call: _Call) -> Counts:
    refused = isinstance(call, RefusedAllocation)
    if call.provider == "memory" and _pins_memory(rules, pod):
        counts = _requested(counts, names.MEMORY_REQUESTS, names.MEMORY_ERRORS, refused)
    if call.provider == "cpu" and _pins_cpus(rules, pod, call):
        counts = _requested(counts, names.CPU_REQUESTS, names.CPU_ERRORS, refused)
        if rules.cpu.full_pcpus_only and not refused:
            counts = counts.plus(names.ALIGNED, _aligned("container", "physical_cpu"))
    is_whole = not refused and call.provider == _LAST_PROVIDER[rules.machine.os]
    if is_whole and _aligns_containers(rules):
        counts = counts.plus(names.ALIGNED, _aligned("container", _NUMA_NODE))
    return counts


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


def _aligned(scope: str, boundary: str) -> Labels:
    return (("scope", scope), ("boundary", boundary))
