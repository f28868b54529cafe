"""Who listens while a decision is made. Off costs nothing; explanations come from here.

A decision is a function of values, so an earlier one is explained by making it again
with a recorder that collects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from numalet.core.hints.hint import ProviderHints
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import Refused
from numalet.core.model.pod import Container, Pod
from numalet.core.snapshot.snapshot import Snapshot


class Recorder(Protocol):
    """Callbacks of one admission, in the order in which things happen.

    Who inherits from it needs to write only those that matter; the others do nothing.
    """

    def hints_were_asked(
        self, snapshot: Snapshot, pod: Pod, subject: str, hints: Mapping[str, ProviderHints]
    ) -> None:
        """After all providers answered; ``subject`` is ``pod`` or a container's name."""
        return

    def hints_were_merged(self, pod: Pod, subject: str, merged: Merged) -> None:
        """After the policy decided. *Not* called under the topology policy none."""
        return

    def resources_were_allocated(
        self, pod: Pod, container: Container, provider: str, before: Snapshot, after: Snapshot
    ) -> None:
        """After one provider allocated for one container."""
        return

    def allocation_was_refused(
        self, pod: Pod, container: Container, provider: str, refused: Refused
    ) -> None:
        """After one provider refused; nothing follows."""
        return


class SilentRecorder(Recorder):
    """The recorder that records nothing: it writes no callback of its own."""


SILENT: Recorder = SilentRecorder()
