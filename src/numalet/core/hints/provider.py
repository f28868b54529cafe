"""The protocol of a resource manager: hints, allocation, release. Public.

A manager is a set of rules without memory. What it remembers is its ledger, an immutable value
of its own type, given to every call and returned changed. The merged hint is an argument of
``allocate``; a manager never calls back. A manager that can not follow returns ``Refused``.

Kubelet: ``topologymanager.HintProvider``, v1.32, plus the clean-up that the kubelet's managers
do on their own at the beginning of each call (``forget_stale``).
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
"""Stands for the name of a container in a reason that is about a pod as a whole."""


class Refused(Value):
    """A manager refuses; a value, never an exception."""

    reason: Reason


class RefusedMidway(Refused, Generic[L]):
    """A manager refuses after it allocated something that it keeps: ``so_far`` is the ledger then.

    The kubelet undoes nothing; what was allocated is released by the next clean-up.
    """

    so_far: L


ActiveContainers: TypeAlias = Set[ContainerKey]
"""Every container of every active pod, the pod being admitted included."""


class ResourceManager(Protocol[L]):
    """One provider of hints with its own ledger type ``L``."""

    def container_hints(self, ledger: L, pod: Pod, container: Container) -> ProviderHints | Refused:
        """Hints for one container. ``Refused`` only where the kubelet would crash or hang."""
        ...

    def pod_hints(self, ledger: L, pod: Pod) -> ProviderHints | Refused:
        """Hints for the pod as one. ``Refused`` only where the kubelet would crash or hang."""
        ...

    def allocate(self, ledger: L, pod: Pod, container: Container, affinity: Hint) -> L | Refused:
        """The ledger with this container's resources allocated; the same one if it needs none.

        A manager that refuses after it allocated something that it keeps returns ``RefusedMidway``.
        """
        ...

    def forget_stale(self, ledger: L, active: ActiveContainers) -> L:
        """The ledger without containers that are not active; the same one if there are none."""
        ...

    def holders(self, ledger: L, pod_uid: str | None = None) -> Collection[ContainerKey]:
        """Every container that holds something; of one pod, or of all."""
        ...

    def container_started(self, ledger: L, pod: Pod, container: Container) -> L:
        """The ledger when this container is about to start."""
        ...


class PodForgetting(Protocol[L]):
    """What a manager does where it is known which pods have gone, so that no others matter."""

    def forget_pods(self, ledger: L, pod_uids: Sequence[str]) -> L:
        """The ledger without these pods, in this order, of which no container is active."""
        ...


class PodPlacement(Protocol[L]):
    """What a manager does for a pod that asks for its resource as a whole.

    In pod scope such a pod is hinted and allocated once, and its containers divide what it gets.
    A manager without this is asked for each container.
    """

    def hints(self, ledger: L, pod: Pod) -> ProviderHints | Refused:
        """Hints for all that the pod asks for."""
        ...

    def allocate(self, ledger: L, pod: Pod, affinity: Hint) -> L | Refused:
        """The ledger with the pod's share, and its containers' parts of it."""
        ...
