"""A shim that is waited for: its pidfd in the event loop, and the ways to end its program."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import Final

from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.runtime import cgroups
from numalet.agent.host.runtime.attempts import AttemptFolder
from numalet.agent.host.runtime.shim import attempt_files, process_tree, watch

STUBBORN_SECONDS: Final = 5.0
"""How long a shim may take to kill its program before it is killed itself. The kernel kills the
program with it, so nothing is lost but the exit status and the last lines of output."""


class Watched:
    """A running attempt; ``cgroup`` is its path below the root, None without one."""

    def __init__(
        self,
        attempt: AttemptFolder,
        pid: int,
        pidfd: int,
        own: CgroupTree | None,
        gone: Callable[[], None],
    ) -> None:
        order = attempt.document(attempt_files.LAUNCH) or {}
        tree = cgroups.tree_of(order, own)
        self.pid = pid
        """The shim's, or the runner's of a command in the foreground."""
        self.cgroup: str | None = order.get("path") if tree is not None else None
        self._in_foreground = bool(order.get("foreground"))
        self._pidfd = pidfd
        """Of that process, in the event loop; -1 after ``close``."""
        self.tree = tree
        """Where that cgroup is."""
        self._gone = gone
        """Called once, when the process has ended."""
        self._asked = False
        """Whether SIGTERM was sent."""
        self._kill_at: float | None = None
        """When all of it is killed, by the loop's clock; it only ever becomes earlier."""
        self._timer: asyncio.TimerHandle | None = None
        """The kill that is due; one at a time."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(pidfd, self._ended)

    @classmethod
    def of(
        cls, attempt: AttemptFolder, own: CgroupTree | None, gone: Callable[[], None]
    ) -> Watched | None:
        """The shim of an attempt; None if it is gone.

        The lock is tried after the pidfd was opened: as long as it is held the id can not
        have gone to another process.
        """
        started = attempt.document(attempt_files.STARTED)
        if started is None:
            return None
        pid = int(started["shim"])
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return None
        descriptor = attempt.lock()
        if descriptor is None:
            return cls(attempt, pid, pidfd, own, gone)
        os.close(descriptor)
        _reap_at_end(pid, pidfd)
        return None

    def stop(self, grace_seconds: float) -> None:
        """SIGTERM to the program now, if it was not asked yet; kill all of it after the period."""
        if not self._asked:
            self._asked = True
            self._signal(signal.SIGTERM)
        at = self._loop.time() + max(grace_seconds, 0.0)
        if self._kill_at is not None and self._kill_at <= at:
            return
        self._kill_at = at
        self._after(max(grace_seconds, 0.0), self.kill)

    def kill(self) -> None:
        """Kill everything of the container; a shim that does not answer goes with it."""
        if self.tree is not None and self.cgroup is not None:
            with contextlib.suppress(OSError):
                self.tree.kill(self.cgroup)
        if self._in_foreground:
            # It is the user's own process, whose signals are the program's.
            process_tree.kill(process_tree.descendants(self.pid))
        else:
            self._signal(watch.KILL_ALL)
        self._kill_at = self._loop.time()
        self._after(STUBBORN_SECONDS, lambda: self._signal(signal.SIGKILL))

    def close(self) -> None:
        """Stop waiting; the shim continues."""
        if self._timer is not None:
            self._timer.cancel()
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, action)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def _ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        _reap(self.pid)
        self._gone()


def reap_when_ended(pid: int) -> None:
    """Reap a shim that is not waited for as soon as it has ended."""
    with contextlib.suppress(ProcessLookupError):
        _reap_at_end(pid, os.pidfd_open(pid))


def _reap_at_end(pid: int, pidfd: int) -> None:
    """The same with its pidfd, which is closed then."""
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(pidfd)
        os.close(pidfd)
        _reap(pid)

    loop.add_reader(pidfd, ended)


def _reap(pid: int) -> None:
    """Reap a shim, if it was our own child."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
