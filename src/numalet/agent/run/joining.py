"""The order of a command: accepted from an agent, or its own, and handed back at the end.

The command is the shim of its own program: it holds the attempt's lock and writes the files
that the agent's shims write, so it does not matter whether the agent is there while the program
runs, nor whether there was one when it began. See ``agent.host.runtime.offers``.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from numalet.agent.host.runtime.attempts import AttemptFolder
from numalet.agent.host.runtime.shim import attempt_files, process_tree
from numalet.agent.host.runtime.shim.attempt_files import AttemptReport
from numalet.agent.host.runtime.shim.begin import Setup
from numalet.agent.run import program
from numalet.agent.run.program import ReadyPlace
from numalet.core.model.value import Value
from numalet.insight.output.run_document import RunDocument

PAUSE_SECONDS: Final = 0.005
_RELEASE_SECONDS: Final = 5.0
"""How long to wait at the end for the agent to release, so that the next command has the room."""
_NOTIFICATION: Final = b"!"


class AcceptedOrder(Value):
    """An order that is ours: its folder, its lock as a descriptor, and what it says."""

    folder: Path
    lock: int
    order: Mapping[str, Any]


class NotifyingReport(AttemptReport):
    """The report of a command; an agent is notified of its start at once."""

    def started(self, program: dict[str, Any]) -> None:
        """Which process is the command, and since when."""
        super().started(program)
        _notify(self.folder)


def accept(folder: Path) -> AcceptedOrder | None:
    """Take the order that lies in an attempt's folder; None if there is none now.

    The lock is touched only where an order lies. Held for a moment at every poll, it would show an
    agent that prepares this attempt again (an earlier one died over it) that we are at it already,
    and it would leave no order; see ``ProcessRuntime.start``.
    """
    if not (folder / attempt_files.LAUNCH).exists():
        return None
    try:
        descriptor = os.open(folder / attempt_files.LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        order = attempt_files.read(folder, attempt_files.LAUNCH)
        if order is not None and not (folder / attempt_files.STARTED).exists():
            return AcceptedOrder(folder, descriptor, order)
    os.close(descriptor)
    return None


def begin(attempt: AttemptFolder, order: Mapping[str, Any]) -> AcceptedOrder:
    """An order that a command gives to itself, where there is no agent; one may find it there.

    Raises ``BadInput`` and ``OSError``.
    """
    attempt.prepare(order)
    descriptor = attempt.lock()
    assert descriptor is not None
    with suppress(FileExistsError):
        os.mkfifo(attempt.folder / attempt_files.NOTIFY_FIFO, 0o600)
    return AcceptedOrder(attempt.folder, descriptor, order)


def ready(accepted: AcceptedOrder, place: RunDocument, command: tuple[str, ...]) -> ReadyPlace:
    """The place as the order has it, with room for the files of the report. Raises ``OSError``."""
    order, given = accepted.order, accepted.order["setup"]
    env = {
        **program.environment(order["granted_cpus"], place, order["handed"]),
        process_tree.MARK: given["env"][process_tree.MARK],
    }
    return ReadyPlace(
        setup=Setup(
            argv=command,
            env=env,
            cgroup=given["cgroup"],
            cpus=given["cpus"],
            memory_nodes=given["memory_nodes"],
        ),
        oom_score_adj=order["oom_score_adj"],
        memory_max_bytes=order["memory_max_bytes"] or 0,
        numa_nodes=tuple(place.numa_nodes),
        report=NotifyingReport(accepted.folder),
    )


def hand_back(accepted: AcceptedOrder) -> None:
    """Let go of the order, and wait for the agent to release the place, if there is an agent."""
    os.close(accepted.lock)
    _notify(accepted.folder)
    last = time.monotonic() + _RELEASE_SECONDS
    while accepted.folder.exists() and _is_listening(accepted.folder):
        if time.monotonic() >= last:
            return
        time.sleep(PAUSE_SECONDS)


def _notify(folder: Path) -> None:
    """Notify the agent that the attempt's files changed; without an agent nothing happens."""
    _write(folder, _NOTIFICATION)


def _is_listening(folder: Path) -> bool:
    """Whether an agent reads the notify FIFO."""
    return _write(folder, b"")


def _write(folder: Path, content: bytes) -> bool:
    """Write into the notify FIFO; False if nothing reads it."""
    path = folder / attempt_files.NOTIFY_FIFO
    with suppress(OSError):
        fifo = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(fifo, content)
        finally:
            os.close(fifo)
        return True
    return False
