"""An attempt that a process in the foreground starts itself, being its own shim.

``numalet run`` wants its command to have its terminal, its folder, its user, and to be its child;
the agent wants the command on its allocation, and to know of its end even if both were killed.
So the agent prepares the cgroup and writes the order, as for a shim of its own, and the runner
takes the attempt's lock, starts the program, and leaves the same files. From there on nothing
differs: the next agent adopts a runner and waits for it by its pidfd, as for any shim.

An offer holds as long as the order lies there. Who withdraws it takes the lock first, so an order
is either accepted or withdrawn, never both. The notify FIFO is a named pipe in the attempt's
folder: the runner writes to it when the program has started and when it has ended, which saves
the agent polling.
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
"""Between two checks of an offer whose runner has ended, while its child holds the lock."""


class NotifyFifo:
    """The notify FIFO of one attempt, read until it is closed."""

    def __init__(self, attempt: AttemptFolder, notified: Callable[[], None]) -> None:
        path = attempt.folder / attempt_files.NOTIFY_FIFO
        with contextlib.suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        # Open for both ways it has no end when a runner closes its own.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        """Ours until ``close``."""
        self._on_notify = notified
        """Called on the event loop, once for any number of notifications that came together."""
        asyncio.get_running_loop().add_reader(self._descriptor, self._readable)

    def close(self) -> None:
        """Stop reading."""
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _readable(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, 64)
        self._on_notify()


class StartOffer:
    """An order that waits for its runner.

    ``gone`` is called when the runner's process has ended, and again until the offer is closed;
    ``late`` when it was not accepted in time.
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
        """The runner's process; ours from now on, until ``close``."""
        self._gone = gone
        self._timers = [self._loop.call_later(patience_seconds, late)]
        """The end of the patience, and a call of ``gone`` that is to be repeated."""
        self._loop.add_reader(runner_pidfd, self._runner_ended)

    def close(self) -> None:
        """The offer is over."""
        for timer in self._timers:
            timer.cancel()
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)

    def _runner_ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        # What it had begun may still hold the lock for a moment.
        self._timers.append(self._loop.call_later(_PAUSE_SECONDS, self._runner_ended))
        self._gone()


def pidfd_of(runner: Runner) -> int | None:
    """A pidfd of the runner's process, or None if that process has ended."""
    try:
        descriptor = os.pidfd_open(runner.pid)
    except (OSError, ValueError):
        return None
    if process_tree.is_this(runner.pid, runner.ticks, runner.boot):
        return descriptor
    os.close(descriptor)
    return None


def withdraw(attempt: AttemptFolder) -> bool:
    """Make sure that no runner accepts the order any more; False if one has."""
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
