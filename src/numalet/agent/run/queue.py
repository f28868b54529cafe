"""Who waits for a place, in the order in which they came.

A ticket is a file whose name is its number, locked as long as its process lives: one that was
killed leaves a ticket without a holder, and the next process removes it. The order is strict:
the first is tried first, and none behind overtakes, even where it would fit. So a large
request is not starved by small ones, and small ones wait for it. It holds among those who wait;
who does not wait takes what is free at the moment. The tickets do not know who decides, so the
queue is the same with an agent and without.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from numalet.agent.controller import lock_file
from numalet.agent.findings.run import RunNotItsTurn, RunWaitedInVain, RunWaits
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.io import os_problem
from numalet.shared.findings.agent import AgentRootUnusable

FOLDER: Final = "queue"
_LOCK: Final = "lock"
"""Held while tickets are added and removed."""
_DIGITS: Final = 12
_PAUSE_SECONDS: Final = 0.05
"""Between two polls of the ticket before this one: a file lock has no notice without a thread."""


class Ticket:
    """A place in the queue below one folder."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        """Of the file that its process keeps locked; the lowest is first."""

    def ahead(self) -> int:
        """How many wait before this one."""
        with lock_file.held(self._folder / _LOCK):
            return len(self._before())

    def wait_for_turn(self, last: float) -> bool:
        """Wait until none is before this one, or the monotonic clock says ``last``."""
        while True:
            with lock_file.held(self._folder / _LOCK):
                before = self._before()
            if not before:
                return True
            # Only one is polled, however many wait.
            while lock_file.is_held(before[-1]):
                if time.monotonic() >= last:
                    return False
                time.sleep(_PAUSE_SECONDS)

    def _before(self) -> list[Path]:
        """The tickets before this one, in order; those without a holder are removed."""
        tickets = []
        for path in _tickets(self._folder):
            if int(path.name) < self._number:
                if lock_file.is_held(path):
                    tickets.append(path)
                else:
                    path.unlink(missing_ok=True)
        return tickets


@contextmanager
def joined(folder: Path) -> Iterator[Ticket]:
    """Take a ticket, at the end of the queue, as long as the block lasts. Raises ``BadInput``."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        with lock_file.held(folder / _LOCK):
            number = max((int(path.name) for path in _tickets(folder)), default=0) + 1
            path = folder / f"{number:0{_DIGITS}}"
            descriptor = lock_file.opened(path)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        where = Location(str(folder))
        raise BadInput(
            [AgentRootUnusable(path=str(folder), error=os_problem.text(error), where=where)]
        ) from None
    try:
        yield Ticket(folder, number)
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


class Waiter:
    """One command that waits: its ticket is taken once, and its time begins once.

    Both are kept when an agent goes and another one, or the command itself, decides.
    """

    def __init__(
        self, folder: Path, seconds: float | None, command: str, report: Callable[[Finding], None]
    ) -> None:
        self._folder = folder
        self._command = command
        """Its words, for messages."""
        self._report = report
        self._ticket: Ticket | None = None
        """Ours, from the first ``turn`` until we leave."""
        self._held = ExitStack()
        """Removes the ticket's file and its lock."""
        self.waits = seconds is not None
        """Whether it waits at all."""
        self.last = time.monotonic() + (seconds or 0.0)
        """Until when, by the monotonic clock."""
        self._seconds = seconds or 0.0

    def __enter__(self) -> Waiter:
        return self

    def __exit__(self, *_error: object) -> None:
        self.leave()

    def turn(self) -> Finding | None:
        """Queue up, unless it has, until it is its turn; a finding if the time is over before.

        Raises ``BadInput``.
        """
        if self._ticket is None:
            self._ticket = self._held.enter_context(joined(self._folder))
            ahead = self._ticket.ahead()
            if ahead:
                self._report(RunWaits(ahead=ahead, command=self._command))
        if self._ticket.wait_for_turn(self.last):
            return None
        return RunNotItsTurn(ahead=self._ticket.ahead(), command=self._command)

    def in_vain(self) -> Iterator[Finding]:
        """How long the command waited, if its time is over."""
        if self._seconds and time.monotonic() >= self.last:
            yield RunWaitedInVain(seconds=f"{self._seconds:g}", command=self._command)

    def leave(self) -> None:
        """Let the next one have its turn."""
        self._ticket = None
        self._held.close()


def _tickets(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.isdecimal())
