"""The manager that does nothing: no preference, nothing allocated, nothing remembered.

It is the policy none of the CPU Manager, the policy None of the Memory Manager, and what
stands in for any manager that is switched off.
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
    """A ``ResourceManager`` for any ledger type; every ledger comes back as it was."""

    def container_hints(self, ledger: L, pod: Pod, container: Container) -> ProviderHints:
        """No preference."""
        return NO_HINTS

    def pod_hints(self, ledger: L, pod: Pod) -> ProviderHints:
        """No preference."""
        return NO_HINTS

    def allocate(self, ledger: L, pod: Pod, container: Container, affinity: Hint) -> L:
        """The same ledger."""
        return ledger

    def forget_stale(self, ledger: L, active: ActiveContainers) -> L:
        """The same ledger."""
        return ledger

    def holders(self, ledger: L, pod_uid: str | None = None) -> Collection[ContainerKey]:
        """No provider."""
        return ()

    def container_started(self, ledger: L, pod: Pod, container: Container) -> L:
        """The same ledger."""
        return ledger


class NoPlacement(Value, Generic[L]):
    """A ``PodPlacement`` for any ledger type: pods as a whole get nothing either."""

    def hints(self, ledger: L, pod: Pod) -> ProviderHints:
        """No preference."""
        return NO_HINTS

    def allocate(self, ledger: L, pod: Pod, affinity: Hint) -> L:
        """The same ledger."""
        return ledger
