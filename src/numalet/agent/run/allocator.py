"""What ``numalet run`` asks for one command, whichever process holds the node state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias

from numalet.agent.run.program import ReadyPlace
from numalet.core.model.findings import Finding
from numalet.insight.output.explanation_types import Explanation
from numalet.insight.output.run_document import RunDocument

Answer: TypeAlias = RunDocument | Finding
"""The place, or why there is none; a finding if nothing could be decided."""


class Allocator(Protocol):
    """The node state, asked about one command.

    ``beside_agent.Agent`` asks the agent that holds it, ``without_agent.SharedAllocator`` decides
    on the state that commands without an agent share. All may raise ``BadInput``, and until the
    command has its place ``AgentGone`` or ``AgentHolds``, where another one holds the state by now.
    """

    @property
    def remarks(self) -> Sequence[Finding]:
        """Notes for the user about the node state."""

    def preview(self) -> Answer:
        """Where the command would go now; nothing is changed."""

    def place(self) -> Answer:
        """Where the command goes; the place is allocated until it is released, or we are gone."""

    def place_or_wait(self, seconds: float) -> Answer:
        """The same; where something else holds the room, wait for a change, at most so long."""

    def explanation(self) -> Explanation | None:
        """Why the last answer was no; None if that can not be found out."""

    def on_refusal(self) -> Iterator[Finding]:
        """What to report of the last answer, which was no, after its explanation."""

    def prepare(self, place: RunDocument) -> ReadyPlace | Finding:
        """The place with everything in force, so that the command can begin; or why it can not."""

    def release(self) -> None:
        """Release what was placed, or would have been; all that ran in it has ended."""
