"""Who watches a guest: notified of what happens, as it happens."""

from __future__ import annotations

from typing import Protocol

from numalet.core.model.findings import Finding


class Watch(Protocol):
    """Each is called from the thread that runs the guest, never after it ended."""

    def note(self, finding: Finding) -> None:
        """Something to know that stops nothing."""
        ...

    def preparing(self, what: str) -> None:
        """The kernel is being fetched; once, before the guest starts, and not every time."""
        ...

    def booting(self, seconds: float) -> None:
        """The guest has been booting for so long; called several times a second."""
        ...

    def ready(self, seconds: float) -> None:
        """The command begins, so long after the start."""
        ...

    def output(self, data: bytes) -> None:
        """The command has printed this."""
        ...

    def errors(self, data: bytes) -> None:
        """The command has printed this to its error stream; not in a shell, which has one."""
        ...
