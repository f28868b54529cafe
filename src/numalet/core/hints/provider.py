"""The protocol of a resource manager, and its answers: hints, allocation, release. Public.

A manager is a set of rules without memory. Its state is its ledger, an immutable value: each call
receives a ledger and returns the next one. A manager that cannot comply returns ``Refused``.

Kubelet: ``topologymanager.HintProvider``, v1.32, plus the clean-up that the kubelet's managers do
at the beginning of each call (``forget_stale``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import (
    ClassVar,
    Final,
    Generic,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import Value


@runtime_checkable
class Reason(Protocol):
    """Why a manager refused a request or did not offer a set.

    A frozen dataclass with a class attribute ``code`` of the form ``room/name``, stable across
    releases. Its fields are the values of the explanation. Class attributes hold its words:
    ``sentence``, a ``str.format`` template over the fields; ``brief``, the same in few words;
    ``kubelet_text``, the kubelet's own. A manager from outside may omit all three.
    """

    @property
    def code(self) -> str:
        """The stable code that ``-o json`` prints."""
        ...


class Hint(NamedTuple):
    """A set of NUMA nodes, or None for any node, and whether the set is preferred.

    Preferred means, for every provider: no smaller set could hold the request on an empty machine.
    Kubelet: ``topologymanager.TopologyHint``, v1.32.
    """

    mask: NumaMask | None
    preferred: bool


ZERO_HINT = Hint(None, False)
"""The affinity of a container without a stored one: any node, not preferred."""


# The three answers of a manager for one resource. The kubelet encodes them in one Go value: no
# list, an empty list, a list. Here they have names: ``NoPreference``, ``Impossible`` with its
# reason, and a family of hints, which is an explicit list or a rule.


class NoPreference(Value):
    """Any node can provide this resource."""


class Impossible(Value):
    """No set of nodes can satisfy the request, for this reason."""

    reason: Reason


class HintFamily(Protocol):
    """The node sets that one resource offers."""

    def hints(self) -> Sequence[Hint]:
        """Return one or more hints, in the order of the kubelet."""
        ...

    def why_not(self, mask: NumaMask) -> Reason | None:
        """Return why this set is not offered, if so."""
        ...


class Candidates(Value):
    """A family given as an explicit list."""

    listed: tuple[Hint, ...]

    def hints(self) -> Sequence[Hint]:
        return self.listed

    def why_not(self, mask: NumaMask) -> Reason | None:
        return None if any(hint.mask == mask for hint in self.listed) else NotListed(mask)


class NotListed(Value):
    """The provider did not offer this set and gave no reason."""

    code: ClassVar[str] = "hints/not-listed"
    sentence: ClassVar[str] = "The provider does not offer the NUMA nodes {mask}."
    brief: ClassVar[str] = "not offered"
    mask: NumaMask


ResourceHints: TypeAlias = NoPreference | Impossible | HintFamily

ProviderHints: TypeAlias = Mapping[str, ResourceHints]
"""Answer of one provider by resource name. Empty: no preference for any resource."""

NO_HINTS: ProviderHints = {}


L = TypeVar("L")

WHOLE_POD: Final = ""
"""Container name in a reason that concerns the whole pod."""


class Refused(Value):
    """A manager refuses; a value, never an exception."""

    reason: Reason


class RefusedMidway(Refused, Generic[L]):
    """A manager refuses after a partial allocation, which stays in the ledger ``so_far``.

    The kubelet undoes nothing; its next clean-up releases the allocation.
    """

    so_far: L


ActiveContainers: TypeAlias = Set[ContainerKey]
"""Every container of every active pod, including the pod being admitted."""


class ResourceManager(Protocol[L]):
    """One provider of hints with its own ledger type ``L``."""

    def container_hints(self, ledger: L, pod: Pod, container: Container) -> ProviderHints | Refused:
        """Return hints for one container; ``Refused`` only if the kubelet would crash or hang."""
        ...

    def pod_hints(self, ledger: L, pod: Pod) -> ProviderHints | Refused:
        """Return hints for the whole pod; ``Refused`` only if the kubelet would crash or hang."""
        ...

    def allocate(self, ledger: L, pod: Pod, container: Container, affinity: Hint) -> L | Refused:
        """Return the ledger after the allocation; the same one if the container needs nothing.

        A manager that refuses after a partial allocation returns ``RefusedMidway``.
        """
        ...

    def forget_stale(self, ledger: L, active: ActiveContainers) -> L:
        """Return the ledger without inactive containers; the same one if all are active."""
        ...

    def holders(self, ledger: L, pod_uid: str | None = None) -> Collection[ContainerKey]:
        """Return every container with an allocation, of one pod or of all."""
        ...

    def container_started(self, ledger: L, pod: Pod, container: Container) -> L:
        """Return the ledger after a container's start."""
        ...


class PodForgetting(Protocol[L]):
    """Clean-up for a caller that knows which pods are gone; faster than ``forget_stale``."""

    def forget_pods(self, ledger: L, pod_uids: Sequence[str]) -> L:
        """Return the ledger without these inactive pods, removed in this order."""
        ...


class PodPlacement(Protocol[L]):
    """Hints and allocation for a pod that requests a resource as a whole.

    In pod scope such a pod gets one hint and one allocation, which its containers divide. A manager
    without a ``PodPlacement`` is called for each container.
    """

    def hints(self, ledger: L, pod: Pod) -> ProviderHints | Refused:
        """Return hints for the pod's whole request."""
        ...

    def allocate(self, ledger: L, pod: Pod, affinity: Hint) -> L | Refused:
        """Return the ledger with the pod's allocation, and its containers' parts of it."""
        ...


# The managers without effect: the CPU Manager's policy none, the Memory Manager's policy None, and
# any manager that is switched off.


class Indifferent(Value, Generic[L]):
    def container_hints(self, ledger: L, pod: Pod, container: Container) -> ProviderHints:
        return NO_HINTS

    def pod_hints(self, ledger: L, pod: Pod) -> ProviderHints:
        return NO_HINTS

    def allocate(self, ledger: L, pod: Pod, container: Container, affinity: Hint) -> L:
        return ledger

    def forget_stale(self, ledger: L, active: ActiveContainers) -> L:
        return ledger

    def holders(self, ledger: L, pod_uid: str | None = None) -> Collection[ContainerKey]:
        return ()

    def container_started(self, ledger: L, pod: Pod, container: Container) -> L:
        return ledger


class NoPlacement(Value, Generic[L]):
    def hints(self, ledger: L, pod: Pod) -> ProviderHints:
        return NO_HINTS

    def allocate(self, ledger: L, pod: Pod, affinity: Hint) -> L:
        return ledger
