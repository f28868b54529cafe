"""Monitors an attempt by the pidfd of its shim, ends its program, and reads how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any, Final

from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.runtime import enforcement
from numalet.agent.host.runtime.attempts import AttemptFolder, moment
from numalet.agent.host.runtime.shim import attempt_files, process_tree, watch
from numalet.agent.host.runtime.shim.attempt_files import stamp
from numalet.core.model.findings import Finding
from numalet.core.workload.run import Cause, Exit, ExitReason
from numalet.shared.findings.runtime import RuntimeNodesExhausted, RuntimeShimGone

STUBBORN_SECONDS: Final = 5.0
"""Seconds for a shim to kill its program before it is killed itself.

The kernel then kills the program too; only exit status and last output are lost.
"""

_KILLED: Final = 128 + signal.SIGKILL


class Watched:
    """A running attempt; ``cgroup`` is its path below the root, if it has one."""

    def __init__(
        self,
        attempt: AttemptFolder,
        pid: int,
        pidfd: int,
        own: CgroupTree | None,
        gone: Callable[[], None],
    ) -> None:
        order = attempt.document(attempt_files.LAUNCH) or {}
        tree = enforcement.tree_of(order, own)
        self.pid = pid
        """The shim's, or the runner's of a foreground command."""
        self.cgroup: str | None = order.get("path") if tree is not None else None
        self._in_foreground = bool(order.get("foreground"))
        self._pidfd = pidfd
        """Registered with the event loop; -1 after ``close``."""
        self.tree = tree
        self._gone = gone
        self._asked = False
        self._kill_at: float | None = None
        """By the loop's clock; it only ever becomes earlier."""
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(pidfd, self._ended)

    @classmethod
    def of(
        cls, attempt: AttemptFolder, own: CgroupTree | None, gone: Callable[[], None]
    ) -> Watched | None:
        """Monitor the shim of an attempt, if it still runs."""
        started = attempt.document(attempt_files.STARTED)
        if started is None:
            return None
        pid = int(started["shim"])
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return None
        # Open the pidfd before testing the lock: while the shim holds the lock, its pid cannot have
        # been reused.
        descriptor = attempt.lock()
        if descriptor is None:
            return cls(attempt, pid, pidfd, own, gone)
        os.close(descriptor)
        _reap_at_end(pid, pidfd)
        return None

    def stop(self, grace_seconds: float) -> None:
        """Send SIGTERM once; kill after the period."""
        if not self._asked:
            self._asked = True
            self._signal(signal.SIGTERM)
        at = self._loop.time() + max(grace_seconds, 0.0)
        if self._kill_at is not None and self._kill_at <= at:
            return
        self._kill_at = at
        self._after(max(grace_seconds, 0.0), self.kill)

    def kill(self) -> None:
        """Kill everything of the container, and the shim if it does not answer."""
        if self.tree is not None and self.cgroup is not None:
            with contextlib.suppress(OSError):
                self.tree.kill(self.cgroup)
        if self._in_foreground:
            # A runner would pass SIGUSR1 on to its program, so kill its descendants by id.
            process_tree.kill(process_tree.descendants(self.pid))
        else:
            self._signal(watch.KILL_ALL)
        self._kill_at = self._loop.time()
        self._after(STUBBORN_SECONDS, lambda: self._signal(signal.SIGKILL))

    def close(self) -> None:
        """Stop monitoring; the shim continues."""
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
            # A pidfd never names a reused pid.
            signal.pidfd_send_signal(self._pidfd, number)

    def _ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        _reap(self.pid)
        self._gone()


def reap_when_ended(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        _reap_at_end(pid, os.pidfd_open(pid))


def _reap_at_end(pid: int, pidfd: int) -> None:
    """Also closes the pidfd."""
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(pidfd)
        os.close(pidfd)
        _reap(pid)

    loop.add_reader(pidfd, ended)


def _reap(pid: int) -> None:
    """An earlier agent's shim is not a child of this process."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def exit_of(attempt: AttemptFolder) -> Exit:
    document = attempt.document(attempt_files.END)
    end = unknown(attempt) if document is None else document
    finished = moment(end["finished_at"])
    assert finished is not None
    reason, why = _reason(end)
    return Exit(
        code=end["code"],
        reason=reason,
        finished_at=finished,
        started_at=moment(end.get("started_at")),
        signal=end.get("signal"),
        cause=None if why is None else Cause.of(why),
    )


def unknown(attempt: AttemptFolder) -> Mapping[str, Any]:
    """The end of a program whose shim was killed; the kernel killed the program with it."""
    started = attempt.document(attempt_files.STARTED) or {}
    return {
        "code": _KILLED,
        "signal": int(signal.SIGKILL),
        "started_at": started.get("at"),
        "finished_at": stamp(),
        "unseen": True,
    }


def write_unknown(attempt: AttemptFolder) -> None:
    """Raises ``BadInput``."""
    attempt.write_end(unknown(attempt))


def kill_remains(attempt: AttemptFolder, own: CgroupTree | None) -> None:
    """Kill the remains of an attempt whose shim has ended or does not answer.

    ``own`` is this agent's tree, which may differ from the attempt's.
    """
    started = attempt.document(attempt_files.STARTED) or {}
    order = attempt.document(attempt_files.LAUNCH) or {}
    shim = process_tree.process(int(started.get("shim", 0)))
    # A shim holds the lock while it lives; without this check its id may be another process's.
    if shim is not None and attempt.lock_is_held():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(shim.pid, signal.SIGKILL)
    tree = enforcement.tree_of(order, own)
    if tree is not None and "path" in order:
        with contextlib.suppress(OSError):
            tree.kill(order["path"])
    process_tree.kill(process_tree.strays(int(started.get("pid", -1)), attempt.mark))


def _reason(end: Mapping[str, Any]) -> tuple[ExitReason, Finding | None]:
    if end.get("unseen"):
        return ExitReason.UNKNOWN, RuntimeShimGone()
    # Compare the code, not the signal: a shell exits with 137 when its child was killed.
    if end.get("oom_kills", 0) > 0 and end["code"] == _KILLED:
        # Below its own limit, the program died because its NUMA nodes or the machine had no free
        # memory.
        hit = end.get("limit_hits", 0) > 0
        return ExitReason.OOM_KILLED, None if hit else RuntimeNodesExhausted()
    return (ExitReason.COMPLETED if end["code"] == 0 else ExitReason.ERROR), None
