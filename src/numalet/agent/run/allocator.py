"""The interface of ``numalet run`` to the node state, with or without an agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias

from numalet.agent.run.program import ReadyPlace
from numalet.core.model.findings import Finding
from numalet.insight.output.explanation_types import Explanation
from numalet.insight.output.run_document import RunDocument

Answer: TypeAlias = RunDocument | Finding
"""An answer with or without a place; a finding if no decision was possible."""


class Allocator(Protocol):
    """Allocates a place for one command.

    Methods raise ``BadInput``, and ``AgentGone`` or ``AgentHolds`` if another process takes over
    the state before the command has its place.
    """

    @property
    def remarks(self) -> Sequence[Finding]:
        """Notes for the user about the node state."""

    def preview(self) -> Answer:
        """Decide without a change."""

    def place(self) -> Answer:
        """Allocate a place until ``release`` or the end of this process."""

    def place_or_wait(self, seconds: float) -> Answer:
        """As ``place``; if full, first wait for a change, at most this long."""

    def explanation(self) -> Explanation | None:
        """The reason for the last refusal, if known."""

    def on_refusal(self) -> Iterator[Finding]:
        """Notes to print after the explanation of the last refusal."""

    def prepare(self, place: RunDocument) -> ReadyPlace | Finding:
        """Apply all settings, so that the command can start."""

    def release(self) -> None:
        """Free the place; all processes in it have ended."""
