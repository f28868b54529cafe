"""The manager without effect: no preference, no allocation, an unchanged ledger.

It is the CPU Manager's policy none, the Memory Manager's policy None, and any manager that is
switched off.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

from numalet.core.hints.hint import NO_HINTS, Hint, ProviderHints
from numalet.core.hints.provider import ActiveContainers
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import Value

L = TypeVar("L")


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
