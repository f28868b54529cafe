"""Attempts that ``numalet run`` starts itself, as its own shim.

The command keeps its terminal, folder, user and parent. The agent prepares the cgroup and the
order; the runner takes the attempt's lock, starts the program and leaves the same files as a shim.
An order exists until it is accepted or withdrawn. Both need the lock, so never both happen. Through
the notify FIFO the runner reports start and end, so the agent need not poll.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Final

from numalet.agent.host.runtime.attempts import AttemptFolder
from numalet.agent.host.runtime.shim import attempt_files, process_tree
from numalet.core.workload.spec import Runner

_PAUSE_SECONDS: Final = 0.05
"""Retry interval while the child of an ended runner holds the lock."""


class NotifyFifo:
    def __init__(self, attempt: AttemptFolder, notified: Callable[[], None]) -> None:
        path = attempt.folder / attempt_files.NOTIFY_FIFO
        with contextlib.suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        # A read-only end would see EOF as soon as a runner closes its end.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._on_notify = notified
        """Called once for several notifications that arrived together."""
        asyncio.get_running_loop().add_reader(self._descriptor, self._readable)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _readable(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, 64)
        self._on_notify()


class StartOffer:
    """An order that waits for its runner.

    Calls ``gone`` repeatedly once the runner has ended, and ``late`` after the timeout.
    """

    def __init__(
        self,
        runner_pidfd: int,
        patience_seconds: float,
        gone: Callable[[], None],
        late: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._pidfd = runner_pidfd
        """Owned by this object until ``close``."""
        self._gone = gone
        self._timers = [self._loop.call_later(patience_seconds, late)]
        self._loop.add_reader(runner_pidfd, self._runner_ended)

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)

    def _runner_ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        # Its child may hold the lock a little longer, so repeat the call later.
        self._timers.append(self._loop.call_later(_PAUSE_SECONDS, self._runner_ended))
        self._gone()


def pidfd_of(runner: Runner) -> int | None:
    """Open a pidfd of the runner's process, if it still runs."""
    try:
        descriptor = os.pidfd_open(runner.pid)
    except (OSError, ValueError):
        return None
    # The pid may have been reused before the open; from now on the pidfd pins the process.
    if process_tree.is_this(runner.pid, runner.ticks, runner.boot):
        return descriptor
    os.close(descriptor)
    return None


def withdraw(attempt: AttemptFolder) -> bool:
    """Withdraw the order; False if a runner has already accepted it."""
    descriptor = attempt.lock()
    if descriptor is None:
        return False
    try:
        _remove_order(attempt)
    finally:
        os.close(descriptor)
    return True


def _remove_order(attempt: AttemptFolder) -> None:
    (attempt.folder / attempt_files.LAUNCH).unlink(missing_ok=True)
