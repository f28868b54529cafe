"""A listener for the steps of a decision, without cost when off.

A decision is a pure function: to explain an earlier one, decide again with a recorder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import ProviderHints, Reason, Refused
from numalet.core.model.pod import Container, Pod
from numalet.core.model.value import Mutable, Value, field
from numalet.core.snapshot.snapshot import Snapshot


class HintsAsked(Value):
    snapshot: Snapshot
    subject: str
    hints: Mapping[str, ProviderHints]


class HintsMerged(Value):
    subject: str
    merged: Merged


class Allocated(Value):
    container: Container
    provider: str
    before: Snapshot
    after: Snapshot


class RefusedAllocation(Value):
    container: Container
    provider: str
    reason: Reason


Event: TypeAlias = HintsAsked | HintsMerged | Allocated | RefusedAllocation


class Collector(Mutable):
    events: list[Event] = field(default_factory=list)

    def hints_were_asked(
        self, snapshot: Snapshot, pod: Pod, subject: str, hints: Mapping[str, ProviderHints]
    ) -> None:
        self.events.append(HintsAsked(snapshot, subject, hints))

    def hints_were_merged(self, pod: Pod, subject: str, merged: Merged) -> None:
        self.events.append(HintsMerged(subject, merged))

    def resources_were_allocated(
        self, pod: Pod, container: Container, provider: str, before: Snapshot, after: Snapshot
    ) -> None:
        self.events.append(Allocated(container, provider, before, after))

    def allocation_was_refused(
        self, pod: Pod, container: Container, provider: str, refused: Refused
    ) -> None:
        self.events.append(RefusedAllocation(container, provider, refused.reason))


class Recorder(Protocol):
    """Callbacks of one admission, in order. A subclass overrides only those that it needs."""

    def hints_were_asked(
        self, snapshot: Snapshot, pod: Pod, subject: str, hints: Mapping[str, ProviderHints]
    ) -> None:
        """All providers answered; ``subject`` is ``pod`` or a container's name."""
        return

    def hints_were_merged(self, pod: Pod, subject: str, merged: Merged) -> None:
        """The policy decided. *Not* called under the topology policy none."""
        return

    def resources_were_allocated(
        self, pod: Pod, container: Container, provider: str, before: Snapshot, after: Snapshot
    ) -> None:
        """One provider allocated for one container."""
        return

    def allocation_was_refused(
        self, pod: Pod, container: Container, provider: str, refused: Refused
    ) -> None:
        """One provider refused; this is the last event."""
        return


class SilentRecorder(Recorder):
    """A recorder that ignores every event."""


SILENT: Recorder = SilentRecorder()
