"""A watch over a guest that shows nothing and keeps what was printed."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class QuietWatch:
    """Nobody watches; what the command printed is kept, both streams in one."""

    def __init__(self) -> None:
        self.printed = bytearray()
        self.notes: list[Finding] = []

    def note(self, finding: Finding) -> None:
        """Keep it."""
        self.notes.append(finding)

    def preparing(self, what: str) -> None:
        """Nothing."""

    def booting(self, seconds: float) -> None:
        """Nothing."""

    def ready(self, seconds: float) -> None:
        """Nothing."""

    def output(self, data: bytes) -> None:
        """Keep it."""
        self.printed += data

    def errors(self, data: bytes) -> None:
        """Keep it."""
        self.printed += data
