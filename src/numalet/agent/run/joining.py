"""The order of a command: accepted from an agent or written by itself, and returned.

The command is its own shim: it holds the attempt's lock and writes the same files. An agent may
therefore start or stop while the program runs. See ``agent.host.runtime.offers``.
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
"""How long to wait for the agent to free the place, so that the next command finds it."""
_NOTIFICATION: Final = b"!"


class AcceptedOrder(Value):
    """``lock`` is a descriptor."""

    folder: Path
    lock: int
    order: Mapping[str, Any]


class NotifyingReport(AttemptReport):
    def started(self, program: dict[str, Any]) -> None:
        super().started(program)
        _notify(self.folder)


def accept(folder: Path) -> AcceptedOrder | None:
    """Accept the order of an attempt, if there is one."""
    # Do not touch the lock without an order: an agent that prepares this attempt again would see it
    # held, assume an accepted order, and not write its own. See ``ProcessRuntime.start``.
    if not (folder / attempt_files.LAUNCH).exists():
        return None
    try:
        descriptor = os.open(folder / attempt_files.LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        order = attempt_files.read(folder, attempt_files.LAUNCH)
        # The order may have been withdrawn or accepted before the lock was free.
        if order is not None and not (folder / attempt_files.STARTED).exists():
            return AcceptedOrder(folder, descriptor, order)
    os.close(descriptor)
    return None


def begin(attempt: AttemptFolder, order: Mapping[str, Any]) -> AcceptedOrder:
    """Write an order without an agent; an agent that starts later can adopt it.

    Raises ``BadInput`` and ``OSError``.
    """
    attempt.prepare(order)
    descriptor = attempt.lock()
    assert descriptor is not None
    with suppress(FileExistsError):
        os.mkfifo(attempt.folder / attempt_files.NOTIFY_FIFO, 0o600)
    return AcceptedOrder(attempt.folder, descriptor, order)


def ready(accepted: AcceptedOrder, place: RunDocument, command: tuple[str, ...]) -> ReadyPlace:
    """Build the place from the order; allocate the report's files. Raises ``OSError``."""
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
    """Release the lock, and wait until a listening agent has freed the place."""
    os.close(accepted.lock)
    _notify(accepted.folder)
    last = time.monotonic() + _RELEASE_SECONDS
    while accepted.folder.exists() and _is_listening(accepted.folder):
        if time.monotonic() >= last:
            return
        time.sleep(PAUSE_SECONDS)


def _notify(folder: Path) -> None:
    _write(folder, _NOTIFICATION)


def _is_listening(folder: Path) -> bool:
    """An empty write fails only if no process reads the FIFO."""
    return _write(folder, b"")


def _write(folder: Path, content: bytes) -> bool:
    """Write into the notify FIFO; False without a reader."""
    path = folder / attempt_files.NOTIFY_FIFO
    with suppress(OSError):
        # Non-blocking: without a reader, open fails with ENXIO instead of waiting.
        fifo = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(fifo, content)
        finally:
            os.close(fifo)
        return True
    return False
