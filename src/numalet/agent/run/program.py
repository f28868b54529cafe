"""How a command gets its place, and the findings if it does not start.

An ``Allocator`` finds the place; ``foreground`` starts the command there and waits for its end.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol, TypeAlias

from numalet.agent.findings.run import RunNodesExhausted, RunOverItsMemory
from numalet.agent.host.runtime import starting
from numalet.agent.host.runtime.attempts import AttemptFolder
from numalet.agent.host.runtime.shim import attempt_files
from numalet.agent.run.child import StartProblem
from numalet.agent.run.foreground import AcceptedOrder, Ended, ReadyPlace
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output.run_document import RunDocument
from numalet.io import os_problem
from numalet.shared.findings.runtime import (
    RuntimeNotExecutable,
    RuntimeProgramNotFound,
    RuntimeProgramRefused,
    RuntimeStorage,
)

Answer: TypeAlias = RunDocument | Finding
"""An answer with or without a place; a finding if no decision was possible."""

EXIT_NOT_EXECUTABLE: Final = 126
EXIT_NOT_FOUND: Final = 127
_EXITS: Final[Mapping[type[Finding], int]] = {
    RuntimeProgramNotFound: EXIT_NOT_FOUND,
    RuntimeNotExecutable: EXIT_NOT_EXECUTABLE,
    RuntimeProgramRefused: EXIT_NOT_EXECUTABLE,
}


class CommandOutcome(Value):
    """The exit status, and a finding for the user."""

    status: int
    finding: Finding | None = None


def outcome(ended: Ended, ready: ReadyPlace, numa_nodes: Iterable[int]) -> CommandOutcome:
    """Explain the end of a command in its place on these NUMA nodes."""
    problem = ended.not_started
    if isinstance(problem, OSError):
        return CommandOutcome(ended.status, RuntimeStorage(error=os_problem.text(problem)))
    if isinstance(problem, StartProblem):
        why = starting.not_started(problem.stage, problem.number, vars(ready.setup)).why
        return CommandOutcome(_EXITS.get(type(why), ended.status), why)
    if ended.limit_hits is None:
        return CommandOutcome(ended.status)
    if ended.limit_hits:
        over = RunOverItsMemory(limit_bytes=ready.memory_max_bytes)
        return CommandOutcome(ended.status, over)
    return CommandOutcome(ended.status, RunNodesExhausted(nodes=cpu_set.text(numa_nodes)))


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


def write_order(attempt: AttemptFolder, order: Mapping[str, Any]) -> AcceptedOrder:
    """Write an order without an agent; an agent that starts later can adopt it.

    Raises ``BadInput`` and ``OSError``.
    """
    attempt.prepare(order)
    descriptor = attempt.lock()
    assert descriptor is not None
    with suppress(FileExistsError):
        os.mkfifo(attempt.folder / attempt_files.NOTIFY_FIFO, 0o600)
    return AcceptedOrder(folder=str(attempt.folder), lock=descriptor, order=order)
