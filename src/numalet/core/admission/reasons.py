"""Why a pod is rejected."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, TypeAlias

from numalet.core.hints.hint import Hint
from numalet.core.hints.reasons import Reason
from numalet.core.model.value import Value


class NotAligned(Value):
    """The topology policy does not let the merged hint pass.

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
    """The same for a pod that asks for resources as a whole, where managers know of these.

    ``scope`` is the Topology Manager's: ``pod`` or ``container``.
    """

    code: ClassVar[str] = "admission/pod-level-not-aligned"
    scope: str


class AllocationRefused(Value):
    """A manager could not allocate for a container, although the policy let the hint pass."""

    code: ClassVar[str] = "admission/allocation-refused"
    sentence: ClassVar[str] = "The {provider} manager refused {container}: {cause}"
    container: str
    provider: str
    cause: Reason


class KubeletWouldCrash(Value):
    """The kubelet would crash or hang on this pod; it is refused instead.

    ``provider`` is the manager that would: device, cpu, memory, or topology while it merges.
    """

    code: ClassVar[str] = "admission/kubelet-would-crash"
    sentence: ClassVar[str] = (
        "Refused, because the kubelet itself would crash or hang in its {provider} manager "
        "over {subject}: {cause}"
    )
    subject: str
    provider: str
    cause: Reason


class OutOfResource(Value):
    """The node has too little left of a resource, whatever the managers say; CPU in thousandths."""

    code: ClassVar[str] = "admission/out-of-resource"
    sentence: ClassVar[str] = (
        "the node has too little {resource} for the sum of all requests: {requested} requested, "
        "{used} used, {capacity} there"
    )
    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def lack(self) -> int:
        """How much is missing."""
        return self.requested - (self.capacity - self.used)


class PodLevelOff(Value):
    """Pods with resources of their own as a whole are not supported; said after allocation."""

    code: ClassVar[str] = "admission/pod-level-off"
    sentence: ClassVar[str] = (
        "the pod asks for resources as a whole (spec.resources), and the feature gate "
        "PodLevelResources is off"
    )


class PredicateFailed(Value):
    """The pod may not run on this node; ``predicate`` is the kubelet's name of what failed."""

    code: ClassVar[str] = "admission/predicate-failed"
    sentence: ClassVar[str] = "the pod may not run on this node: {predicate}"
    predicate: str


class SidecarForbidden(Value):
    """The node does not know restartable init containers."""

    code: ClassVar[str] = "admission/sidecar-forbidden"
    sentence: ClassVar[str] = (
        "init container {container} restarts always, and the feature gate SidecarContainers is off"
    )
    container: str


class NothingToPreempt(Value):
    """A critical pod lacks so much of each resource although all others would end."""

    code: ClassVar[str] = "admission/nothing-to-preempt"
    sentence: ClassVar[str] = (
        "the pod is critical, and evicting all others would not give it what it lacks: {lacking}"
    )
    lacking: tuple[tuple[str, int], ...]


class Unknown(Enum):
    """Why a predicate could not be asked, or not to its end."""

    NODE_LABELS = "node-labels"
    """The labels of the node are not known."""
    NODE_NAME = "node-name"
    """The name of the node is not known."""
    CONSTRAINTS = "constraints"
    """The pod is known without its selector, affinity and ports."""
    PORTS_OF_OTHERS = "ports-of-others"
    """The ports of some active pods are not known."""
    PODS_WITHOUT_MANIFEST = "pods-without-manifest"
    """Pods are known from state files alone; what they ask for is not in these."""
    NOT_MEASURED = "not-measured"
    """How much of it the node has is not measured here."""
    NODE_FEATURES = "node-features"
    """What the container runtime of the node can do is not known."""
    SWITCHED_OFF = "switched-off"
    """The managers alone are to decide."""


class NotAsked(Value):
    """A predicate that might have refused the pod; named as the reason that it gives."""

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
"""Stands as the provider where the Topology Manager itself would crash."""

CRASHES = frozenset({"memory/unknown-type", "cpu/would-hang"})
"""Codes of refusals at which the kubelet itself does not live on."""
