"""The command in its place: its order, its run, the release of the place.

The order is accepted from an agent, or written without one (``program``). The command is its own
shim: it holds the attempt's lock and writes the same files. An agent may therefore start or stop
while the program runs. See ``agent.host.runtime.offers``.

Beside an agent a command is little more than this (``direct``), so it loads as little as a shim.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace

from numalet.agent.host.runtime.shim import attempt_files, begin, process_tree, watch
from numalet.agent.host.runtime.shim.attempt_files import AttemptReport, stamp
from numalet.agent.host.runtime.shim.begin import Setup
from numalet.agent.run import child
from numalet.agent.run.child import EXIT_REFUSED, StartProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Final

PAUSE_SECONDS: Final = 0.005
_RELEASE_SECONDS: Final = 5.0
"""How long to wait for the agent to free the place, so that the next command finds it."""
_NOTIFICATION: Final = b"!"


class AcceptedOrder(SimpleNamespace):
    """``lock`` is a descriptor."""

    folder: str
    lock: int
    order: Mapping[str, Any]


class ReadyPlace(SimpleNamespace):
    setup: Setup
    oom_score_adj: int
    memory_max_bytes: int
    """The cgroup's limit, 0 without one; only to explain an OOM kill."""
    report: AttemptReport


class Ended(SimpleNamespace):
    """The exit status, and why the command did not start or was killed (``program.problem``)."""

    status: int
    not_started: StartProblem | OSError | None = None
    limit_hits: int | None = None
    """Only for a command that the kernel killed for its memory."""


class NotifyingReport(AttemptReport):
    def started(self, program: dict[str, Any]) -> None:
        super().started(program)
        _write(self.folder, _NOTIFICATION)


def accept_order(folder: str | Path) -> AcceptedOrder | None:
    """Accept the order of an attempt, if there is one."""
    # Do not touch the lock without an order: an agent that prepares this attempt again would see it
    # held, assume an accepted order, and not write its own. See ``ProcessRuntime.start``.
    if not os.path.exists(f"{folder}/{attempt_files.LAUNCH}"):
        return None
    try:
        descriptor = os.open(f"{folder}/{attempt_files.LOCK}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        order = attempt_files.read(folder, attempt_files.LAUNCH)
        # The order may have been withdrawn or accepted before the lock was free.
        if order is not None and not os.path.exists(f"{folder}/{attempt_files.STARTED}"):
            return AcceptedOrder(folder=str(folder), lock=descriptor, order=order)
    os.close(descriptor)
    return None


def ready_place(
    accepted: AcceptedOrder, variables: Mapping[str, str], command: Sequence[str]
) -> ReadyPlace:
    """Build the place from the order; allocate the report's files. Raises ``OSError``.

    ``variables`` describe the place to the command. They and those of device plugins go before
    those of the caller.
    """
    order, given = accepted.order, accepted.order["setup"]
    own = {
        **order["handed"],
        "NUMALET_CPUS": order["granted_cpus"],
        **variables,
        process_tree.MARK: given["env"][process_tree.MARK],
    }
    return ReadyPlace(
        setup=Setup(
            argv=command,
            env={**os.environ, **own},
            cgroup=given["cgroup"],
            cpus=given["cpus"],
            memory_nodes=given["memory_nodes"],
        ),
        oom_score_adj=order["oom_score_adj"],
        memory_max_bytes=order["memory_max_bytes"] or 0,
        report=NotifyingReport(accepted.folder),
    )


def run(ready: ReadyPlace) -> Ended:
    """Run the command to its end; nothing of it is left."""
    # The command's orphans become children of this process, so it can kill them.
    begin.adopt_orphans()
    with child.signals_held():
        try:
            return _run(ready)
        except OSError as error:
            return Ended(status=EXIT_REFUSED, not_started=error)
        finally:
            child.kill_descendants()


def _run(ready: ReadyPlace) -> Ended:
    cgroup, report = ready.setup.cgroup, ready.report
    before, since = watch.out_of_memory(cgroup), stamp()
    pid = child.start(ready.setup, ready.oom_score_adj)
    if isinstance(pid, StartProblem):
        report.not_started({"stage": pid.stage, "errno": pid.number})
        return Ended(status=EXIT_REFUSED, not_started=pid)
    process = process_tree.process(pid)
    ticks = 0 if process is None else process.started
    report.started({"pid": pid, "ticks": ticks, "at": since, "notes": []})
    status = child.accompany(pid)
    until = stamp()
    # Before the record of the end, after which an agent frees the CPUs.
    child.kill_descendants()
    ended = watch.end_document(status, (since, until), cgroup, before)
    report.ended(ended)
    code = child.exit_status(status)
    is_out_of_memory = code == 128 + signal.SIGKILL and ended["oom_kills"] > 0
    return Ended(status=code, limit_hits=ended["limit_hits"] if is_out_of_memory else None)


def hand_back(accepted: AcceptedOrder) -> None:
    """Release the lock, and wait until a listening agent has freed the place."""
    os.close(accepted.lock)
    _write(accepted.folder, _NOTIFICATION)
    last = time.monotonic() + _RELEASE_SECONDS
    # An empty write fails only if no process reads the FIFO.
    while os.path.exists(accepted.folder) and _write(accepted.folder, b""):
        if time.monotonic() >= last:
            return
        time.sleep(PAUSE_SECONDS)


def _write(folder: str | Path, content: bytes) -> bool:
    """Write into the notify FIFO; False without a reader."""
    path = f"{folder}/{attempt_files.NOTIFY_FIFO}"
    with suppress(OSError):
        # Non-blocking: without a reader, open fails with ENXIO instead of waiting.
        fifo = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(fifo, content)
        finally:
            os.close(fifo)
        return True
    return False
