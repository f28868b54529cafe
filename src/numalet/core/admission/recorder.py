"""A listener for the steps of a decision, without cost when off.

A decision is a pure function: to explain an earlier one, decide again with a recorder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import ProviderHints, Refused
from numalet.core.model.pod import Container, Pod
from numalet.core.snapshot.snapshot import Snapshot


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
