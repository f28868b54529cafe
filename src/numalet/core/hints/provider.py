"""The protocol of a resource manager: hints, allocation, release. Public.

A manager is a set of rules without memory. Its state is its ledger, an immutable value: each call
receives a ledger and returns the next one. A manager that cannot comply returns ``Refused``.

Kubelet: ``topologymanager.HintProvider``, v1.32, plus the clean-up that the kubelet's managers do
at the beginning of each call (``forget_stale``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from numalet.core.hints.hint import Hint, ProviderHints
from numalet.core.hints.reasons import Reason
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import Value

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
