"""Why a pod is rejected: one class per reason, and the reasons that given rules can produce."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import ClassVar, Final, TypeAlias

from numalet.core.config.rules import CpuPolicy, MemoryPolicy, NodeRules, TopologyPolicy
from numalet.core.hints.provider import Hint, Reason
from numalet.core.model import resources
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value

_UNEXPECTED: Final = "UnexpectedAdmissionError"
_ALIGNING: Final = (TopologyPolicy.RESTRICTED, TopologyPolicy.SINGLE_NUMA_NODE)


# Which reasons a kubelet with given rules can produce at all. Topology policy none or best-effort
# never produces ``TopologyAffinityError``; other policies do so only if some manager has hints for
# the pod. ``_ORIGINS`` has the reasons of the three managers; every kubelet may write the others.
# Kubelet v1.32 to v1.36: ``policy_static.go`` of the CPU Manager and the Memory Manager,
# ``topologymanager/scope.go``.


class NeverGiven(Value):
    """These rules never produce the reason: the required setting, and the actual one."""

    needs: str
    has: str


class _Origin(Value):
    """The settings that can produce a reason, for messages with one of ``texts`` (empty: any)."""

    reason: str
    texts: tuple[str, ...]
    is_possible: Callable[[NodeRules, Pod], bool]
    needs: str
    has: Callable[[NodeRules], str]


def _aligns(rules: NodeRules, _pod: Pod) -> bool:
    return rules.topology.policy in _ALIGNING and not rules.managers_are_stand_ins


def _gives_cpus(rules: NodeRules, _pod: Pod) -> bool:
    return rules.cpu.policy is CpuPolicy.STATIC


def _gives_whole_cores(rules: NodeRules, pod: Pod) -> bool:
    return _gives_cpus(rules, pod) and rules.cpu.full_pcpus_only


def _gives_memory(rules: NodeRules, _pod: Pod) -> bool:
    return rules.memory.policy is not MemoryPolicy.NONE


def _has_hints(rules: NodeRules, pod: Pod) -> bool:
    asks_devices = any(
        resources.is_device(name) for each in pod.containers() for name in each.limits
    )
    return asks_devices or _gives_cpus(rules, pod) or _gives_memory(rules, pod)


def _cpu_policy(rules: NodeRules) -> str:
    options = ", without full-pcpus-only" if rules.cpu.policy is CpuPolicy.STATIC else ""
    return f"CPU Manager policy {rules.cpu.policy.value}{options}"


def _memory_policy(rules: NodeRules) -> str:
    return f"Memory Manager policy {rules.memory.policy.value}"


_ORIGINS: Final = (
    _Origin(
        "TopologyAffinityError",
        (),
        _aligns,
        "topology policy restricted or single-numa-node",
        lambda rules: f"topology policy {rules.topology.policy.value}",
    ),
    _Origin(
        "TopologyAffinityError",
        (),
        _has_hints,
        "CPU Manager policy static or Memory Manager policy Static for a pod without devices",
        lambda rules: f"{_cpu_policy(rules)} and {_memory_policy(rules)}",
    ),
    _Origin(
        "SMTAlignmentError",
        (),
        _gives_whole_cores,
        "CPU Manager policy static with full-pcpus-only",
        _cpu_policy,
    ),
    _Origin(
        _UNEXPECTED,
        ("not enough cpus available to satisfy request", "accounting error, not enough CPUs"),
        _gives_cpus,
        "CPU Manager policy static",
        _cpu_policy,
    ),
    _Origin(
        _UNEXPECTED,
        ("[memorymanager]",),
        _gives_memory,
        "Memory Manager policy Static",
        _memory_policy,
    ),
)


def why_impossible(reason: str, message: str, rules: NodeRules, pod: Pod) -> NeverGiven | None:
    """Return why a kubelet with these rules never rejects the pod for this reason, if so."""
    for each in _ORIGINS:
        is_meant = not each.texts or any(text in message for text in each.texts)
        if reason == each.reason and is_meant and not each.is_possible(rules, pod):
            return NeverGiven(each.needs, each.has(rules))
    return None


class NotAligned(Value):
    """The topology policy does not accept the merged hint.

    ``subject`` is ``pod`` or the container whose hints were merged.
    """

    code: ClassVar[str] = "admission/not-aligned"
    sentence: ClassVar[str] = "The topology policy {policy} rejects {subject}: {affinity}."
    subject: str
    policy: str
    affinity: Hint


class PodLevelNotAligned(NotAligned):
    """``NotAligned`` for a pod with pod-level requests that the managers support.

    ``scope`` is the Topology Manager's: ``pod`` or ``container``.
    """

    code: ClassVar[str] = "admission/pod-level-not-aligned"
    scope: str


class AllocationRefused(Value):
    """The policy accepted the hint, but a manager could not allocate for a container."""

    code: ClassVar[str] = "admission/allocation-refused"
    sentence: ClassVar[str] = "The {provider} manager refused {container}: {cause}"
    container: str
    provider: str
    cause: Reason


class KubeletWouldCrash(Value):
    """This pod would crash or hang the kubelet; numalet rejects it instead.

    ``provider`` is the manager that crashes: device, cpu, memory, or topology during the merge.
    """

    code: ClassVar[str] = "admission/kubelet-would-crash"
    sentence: ClassVar[str] = (
        "Rejected, because the kubelet would crash or hang in its {provider} manager on {subject}: "
        "{cause}"
    )
    subject: str
    provider: str
    cause: Reason


class OutOfResource(Value):
    """The node's free amount of a resource is too small; CPU in milli-CPUs."""

    code: ClassVar[str] = "admission/out-of-resource"
    sentence: ClassVar[str] = (
        "insufficient {resource}: {requested} requested, {used} of {capacity} in use"
    )
    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def lack(self) -> int:
        return self.requested - (self.capacity - self.used)


class PodLevelOff(Value):
    """The release lacks pod-level resources; the kubelet checks this after allocation."""

    code: ClassVar[str] = "admission/pod-level-off"
    sentence: ClassVar[str] = (
        "the pod has pod-level resources (spec.resources), and the feature gate PodLevelResources "
        "is off"
    )


class PredicateFailed(Value):
    """The pod may not run on this node; ``predicate`` is the kubelet's reason."""

    code: ClassVar[str] = "admission/predicate-failed"
    sentence: ClassVar[str] = "the pod may not run on this node: {predicate}"
    predicate: str


class SidecarForbidden(Value):
    code: ClassVar[str] = "admission/sidecar-forbidden"
    sentence: ClassVar[str] = (
        "init container {container} has restartPolicy Always, and the feature gate "
        "SidecarContainers is off"
    )
    container: str


class NothingToPreempt(Value):
    """A critical pod still lacks these amounts after evicting every eligible pod."""

    code: ClassVar[str] = "admission/nothing-to-preempt"
    sentence: ClassVar[str] = (
        "the pod is critical, but evicting all eligible pods would not free enough: {lacking}"
    )
    lacking: tuple[tuple[str, int], ...]


class Unknown(Enum):
    """Why a predicate was not evaluated, or only in part."""

    NODE_LABELS = "node-labels"
    """The node's labels are unknown."""
    NODE_NAME = "node-name"
    """The node's name is unknown."""
    CONSTRAINTS = "constraints"
    """The pod's selector, affinity and ports are unknown."""
    PORTS_OF_OTHERS = "ports-of-others"
    """The host ports of some active pods are unknown."""
    PODS_WITHOUT_MANIFEST = "pods-without-manifest"
    """Some pods are known only from state files, which do not list their requests."""
    NOT_MEASURED = "not-measured"
    """numalet does not measure the node's capacity of this resource."""
    NODE_FEATURES = "node-features"
    """The features of the node's container runtime are unknown."""
    SWITCHED_OFF = "switched-off"
    """Only the managers decide."""


class NotAsked(Value):
    """A predicate that might reject the pod, named by its reason."""

    predicate: str
    why: Unknown


Rejection: TypeAlias = (
    NotAligned
    | AllocationRefused
    | KubeletWouldCrash
    | PodLevelOff
    | OutOfResource
    | PredicateFailed
    | SidecarForbidden
    | NothingToPreempt
)

TOPOLOGY = "topology"
"""The provider if the Topology Manager itself would crash."""

CRASHES = frozenset({"memory/unknown-type", "cpu/would-hang"})
"""Codes of refusals that would crash or hang the kubelet."""
