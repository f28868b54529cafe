"""The observer of a guest."""

from __future__ import annotations

from typing import Protocol

from numalet.core.model.findings import Finding


class Watch(Protocol):
    """All methods are called from the thread that runs the guest, never after it ended."""

    def note(self, finding: Finding) -> None:
        """A note that does not stop the guest."""
        ...

    def preparing(self, what: str) -> None:
        """The kernel is being fetched, at most once before the start."""
        ...

    def booting(self, seconds: float) -> None:
        """The guest is booting, for this many seconds; called several times a second."""
        ...

    def ready(self, seconds: float) -> None:
        """The command begins, this many seconds after the start."""
        ...

    def output(self, data: bytes) -> None:
        """The command has printed this."""
        ...

    def errors(self, data: bytes) -> None:
        """The command has printed this to its error stream; a shell has only one stream."""
        ...
