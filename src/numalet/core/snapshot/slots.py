"""A slot binds one resource manager to its own ledger inside the snapshot.

Admission sees only slots, and so depends neither on the number of managers nor on their ledgers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Generic, Protocol, TypeVar

from numalet.core.hints.provider import (
    ActiveContainers,
    Hint,
    PodForgetting,
    PodPlacement,
    ProviderHints,
    Refused,
    RefusedMidway,
    ResourceManager,
)
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import Value, replace
from numalet.core.snapshot.snapshot import Snapshot

L = TypeVar("L")


class Slot(Protocol):
    """One manager with its place in the snapshot."""

    @property
    def provider(self) -> str: ...

    @property
    def is_idle(self) -> bool: ...

    def container_hints(
        self, snapshot: Snapshot, pod: Pod, container: Container
    ) -> ProviderHints | Refused: ...

    def pod_hints(self, snapshot: Snapshot, pod: Pod) -> ProviderHints | Refused: ...

    def allocate(
        self, snapshot: Snapshot, pod: Pod, container: Container, affinity: Hint
    ) -> Snapshot | Refused: ...

    @property
    def places_pods(self) -> bool: ...

    def whole_pod_hints(self, snapshot: Snapshot, pod: Pod) -> ProviderHints | Refused: ...

    def allocate_whole_pod(
        self, snapshot: Snapshot, pod: Pod, affinity: Hint
    ) -> Snapshot | Refused: ...

    def forget_stale(self, snapshot: Snapshot, active: ActiveContainers) -> Snapshot: ...

    def forget_pods(self, snapshot: Snapshot, pod_uids: Sequence[str]) -> Snapshot:
        """Clean up when only these pods, all inactive, may be stale."""
        ...

    def holders(
        self, snapshot: Snapshot, pod_uid: str | None = None
    ) -> Collection[ContainerKey]: ...

    def container_started(self, snapshot: Snapshot, pod: Pod, container: Container) -> Snapshot: ...


class ExtraManager(Value, Generic[L]):
    """A manager of a resource that the kubelet has no manager for.

    Its hints are reported under ``name``. ``ledger`` is its empty ledger; a restart of the kubelet
    starts with it again, because it has no state file.
    """

    name: str
    manager: ResourceManager[L]
    ledger: L

    def slot(self) -> ManagerSlot[L]:
        write: _WithExtraLedger[L] = _WithExtraLedger(self.name)
        return ManagerSlot(self.name, self.manager, _ExtraLedger(self.name, self.ledger), write)


# Classes instead of closures, because nodes are pickled.


class _ExtraLedger(Value, Generic[L]):
    name: str
    at_start: L

    def __call__(self, snapshot: Snapshot) -> L:
        ledger: L = snapshot.extra_ledgers.get(self.name, self.at_start)
        return ledger


class _WithExtraLedger(Value, Generic[L]):
    name: str

    def __call__(self, snapshot: Snapshot, ledger: L) -> Snapshot:
        return replace(snapshot, extra_ledgers={**snapshot.extra_ledgers, self.name: ledger})


class ManagerSlot(Value, Generic[L]):
    """A manager, and how to read and replace its ledger.

    ``pods`` handles pods with pod-level requests, if the manager supports them. ``is_idle``: skip
    the manager. ``forgets`` is the manager again, if it can release single pods; else it receives
    all active containers.
    """

    provider: str
    manager: ResourceManager[L]
    read: Callable[[Snapshot], L]
    write: Callable[[Snapshot, L], Snapshot]
    pods: PodPlacement[L] | None = None
    is_idle: bool = False
    forgets: PodForgetting[L] | None = None

    def container_hints(
        self, snapshot: Snapshot, pod: Pod, container: Container
    ) -> ProviderHints | Refused:
        return self.manager.container_hints(self.read(snapshot), pod, container)

    def pod_hints(self, snapshot: Snapshot, pod: Pod) -> ProviderHints | Refused:
        return self.manager.pod_hints(self.read(snapshot), pod)

    def allocate(
        self, snapshot: Snapshot, pod: Pod, container: Container, affinity: Hint
    ) -> Snapshot | Refused:
        ledger = self.read(snapshot)
        after = self.manager.allocate(ledger, pod, container, affinity)
        return snapshot if after is ledger else self._after(snapshot, ledger, after)

    @property
    def places_pods(self) -> bool:
        return self.pods is not None

    def whole_pod_hints(self, snapshot: Snapshot, pod: Pod) -> ProviderHints | Refused:
        ledger = self.read(snapshot)
        return (self.pods.hints if self.pods else self.manager.pod_hints)(ledger, pod)

    def allocate_whole_pod(
        self, snapshot: Snapshot, pod: Pod, affinity: Hint
    ) -> Snapshot | Refused:
        assert self.pods is not None, "asked only where places_pods says so"
        ledger = self.read(snapshot)
        after = self.pods.allocate(ledger, pod, affinity)
        return snapshot if after is ledger else self._after(snapshot, ledger, after)

    def _after(self, snapshot: Snapshot, before: L, after: L | Refused) -> Snapshot | Refused:
        if not isinstance(after, Refused):
            return self.write(snapshot, after)
        if isinstance(after, RefusedMidway):
            return RefusedMidway(after.reason, self._with(snapshot, before, after.so_far))
        return after

    def forget_stale(self, snapshot: Snapshot, active: ActiveContainers) -> Snapshot:
        ledger = self.read(snapshot)
        return self._with(snapshot, ledger, self.manager.forget_stale(ledger, active))

    def forget_pods(self, snapshot: Snapshot, pod_uids: Sequence[str]) -> Snapshot:
        if self.forgets is None:
            return self.forget_stale(snapshot, snapshot.active_containers())
        ledger = self.read(snapshot)
        return self._with(snapshot, ledger, self.forgets.forget_pods(ledger, pod_uids))

    def holders(self, snapshot: Snapshot, pod_uid: str | None = None) -> Collection[ContainerKey]:
        return self.manager.holders(self.read(snapshot), pod_uid)

    def container_started(self, snapshot: Snapshot, pod: Pod, container: Container) -> Snapshot:
        ledger = self.read(snapshot)
        return self._with(snapshot, ledger, self.manager.container_started(ledger, pod, container))

    def _with(self, snapshot: Snapshot, before: L, after: L) -> Snapshot:
        return snapshot if after is before else self.write(snapshot, after)
