"""Why a pod is rejected: one class per reason."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, TypeAlias

from numalet.core.hints.provider import Hint, Reason
from numalet.core.model.value import Value


class NotAligned(Value):
    """The topology policy does not accept the merged hint.

    ``subject`` is ``pod`` or the container whose hints were merged.
    """

    code: ClassVar[str] = "admission/not-aligned"
    sentence: ClassVar[str] = (
        "The topology policy {policy} does not accept the best common placement of {subject}: "
        "{affinity}."
    )
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
