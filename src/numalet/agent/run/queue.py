"""Commands that wait for a place, first come, first served.

A ticket is a file named by its number and locked by its process; the next process removes tickets
of killed ones. The order is strict, so large requests do not starve. A command that does not wait
ignores the queue.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from numalet.agent.controller import run_holders
from numalet.agent.findings.run import RunNotItsTurn, RunWaitedInVain, RunWaits
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.io import os_problem
from numalet.shared.findings.agent import AgentRootUnusable

FOLDER: Final = "queue"
_LOCK: Final = "lock"
_DIGITS: Final = 12
_PAUSE_SECONDS: Final = 0.05
"""Poll interval for the previous ticket: ``flock`` has no timeout."""


class Ticket:
    """A position in the queue of one folder."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        """The lowest number is first."""

    def ahead(self) -> int:
        """Number of tickets before this one."""
        with run_holders.locked(self._folder / _LOCK):
            return len(self._before())

    def wait_for_turn(self, last: float) -> bool:
        """Wait until this ticket is first; False at the deadline of the monotonic clock."""
        while True:
            with run_holders.locked(self._folder / _LOCK):
                before = self._before()
            if not before:
                return True
            # Poll only the previous ticket, so that a long queue stays cheap.
            while run_holders.is_locked(before[-1]):
                if time.monotonic() >= last:
                    return False
                time.sleep(_PAUSE_SECONDS)

    def _before(self) -> list[Path]:
        """Tickets before this one, in order; removes those without a process."""
        tickets = []
        for path in _tickets(self._folder):
            if int(path.name) < self._number:
                if run_holders.is_locked(path):
                    tickets.append(path)
                else:
                    path.unlink(missing_ok=True)
        return tickets


@contextmanager
def joined(folder: Path) -> Iterator[Ticket]:
    """Take a ticket for the duration of the block. Raises ``BadInput``."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        with run_holders.locked(folder / _LOCK):
            number = max((int(path.name) for path in _tickets(folder)), default=0) + 1
            path = folder / f"{number:0{_DIGITS}}"
            descriptor = run_holders.open_lock(path)
            # Inside the queue's lock: an unlocked ticket would be removed as abandoned.
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
    """One waiting command: one ticket and one deadline.

    Both survive a change of the allocator.
    """

    def __init__(
        self, folder: Path, seconds: float | None, command: str, report: Callable[[Finding], None]
    ) -> None:
        self._folder = folder
        self._command = command
        """For messages."""
        self._report = report
        self._ticket: Ticket | None = None
        """From the first ``turn`` until ``leave``."""
        self._held = ExitStack()
        self.waits = seconds is not None
        self.last = time.monotonic() + (seconds or 0.0)
        """Deadline by the monotonic clock."""
        self._seconds = seconds or 0.0

    def __enter__(self) -> Waiter:
        return self

    def __exit__(self, *_error: object) -> None:
        self.leave()

    def turn(self) -> Finding | None:
        """Queue up once, and wait for the turn; a finding at the deadline. Raises ``BadInput``."""
        if self._ticket is None:
            self._ticket = self._held.enter_context(joined(self._folder))
            ahead = self._ticket.ahead()
            if ahead:
                self._report(RunWaits(ahead=ahead, command=self._command))
        if self._ticket.wait_for_turn(self.last):
            return None
        return RunNotItsTurn(ahead=self._ticket.ahead(), command=self._command)

    def in_vain(self) -> Iterator[Finding]:
        if self._seconds and time.monotonic() >= self.last:
            yield RunWaitedInVain(seconds=f"{self._seconds:g}", command=self._command)

    def leave(self) -> None:
        self._ticket = None
        self._held.close()


def _tickets(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.isdecimal())
