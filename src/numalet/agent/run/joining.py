"""The command in a place that an agent keeps: taken over from the agent, run, and handed back.

The command is the watcher of its own program: it holds the attempt's lock and writes the files
that the agent's watchers write, so it does not matter whether the agent is there while the program
runs. See ``agent.host.runtime.offers``.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from numalet.agent.host.runtime.watcher import attempt_files, begin, process_tree, watch
from numalet.agent.host.runtime.watcher.attempt_files import PreallocatedFile
from numalet.agent.host.runtime.watcher.begin import Setup
from numalet.agent.host.runtime.watcher.outputs import stamp
from numalet.agent.run import child, leftovers, program
from numalet.agent.run.child import EXIT_REFUSED, StartProblem
from numalet.agent.run.program import CommandOutcome
from numalet.core.model.findings import Finding
from numalet.insight.output.run_document import RunDocument

PAUSE_SECONDS: Final = 0.005
_RELEASE_SECONDS: Final = 5.0
"""How long to wait at the end for the agent to release, so that the next command has the room."""
_NOTIFICATION: Final = b"!"


@dataclass(frozen=True, slots=True)
class AcceptedOrder:
    """An order that is ours: its folder, its lock as a descriptor, and what it says."""

    folder: Path
    lock: int
    order: Mapping[str, Any]


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


def run(accepted: AcceptedOrder, place: RunDocument, command: tuple[str, ...]) -> CommandOutcome:
    """Run the command to its end; nothing of it is left, and the agent has released its place."""
    setup = _setup(accepted, place, command)
    begin.adopt_orphans()
    with child.signals_held():
        try:
            return _run(setup, accepted, place)
        except OSError as error:
            fields = {"error": error.strerror or str(error)}
            return CommandOutcome(EXIT_REFUSED, Finding("runtime/storage", fields))
        finally:
            leftovers.reap()
            os.close(accepted.lock)
            _notify_agent(accepted.folder)
            _wait_for_release(accepted.folder)


def _run(setup: Setup, accepted: AcceptedOrder, place: RunDocument) -> CommandOutcome:
    order, cgroup = accepted.order, setup.cgroup
    started, refused, end = (
        PreallocatedFile(accepted.folder, name)
        for name in (attempt_files.STARTED, attempt_files.REFUSED, attempt_files.END)
    )
    before, since = watch.out_of_memory(cgroup), stamp()
    pid = child.start(setup, order["oom_score_adj"])
    if isinstance(pid, StartProblem):
        refused.write({"stage": pid.stage, "errno": pid.number})
        return program.not_started(child.why(pid, setup))
    refused.discard()
    _write_start(started, pid, since)
    _notify_agent(accepted.folder)
    status = child.accompany(pid)
    until = stamp()
    leftovers.reap()
    ended = watch.end_document(status, (since, until), cgroup, before)
    end.write(ended)
    code = child.exit_status(status)
    if ended["oom_kills"] <= 0 or code != 128 + 9:
        return CommandOutcome(code)
    limit = order["memory_max_bytes"] or 0
    return CommandOutcome(
        code, program.killed_for_memory(ended["limit_hits"], limit, place.numa_nodes)
    )


def _write_start(started: PreallocatedFile, pid: int, since: str) -> None:
    program_process = process_tree.process(pid)
    ticks = 0 if program_process is None else program_process.started
    started.write({"pid": pid, "ticks": ticks, "at": since, "notes": [], "watcher": os.getpid()})


def _setup(accepted: AcceptedOrder, place: RunDocument, command: tuple[str, ...]) -> Setup:
    given = accepted.order["setup"]
    own = program.command_environment(
        accepted.order["granted_cpus"], place.numa_nodes, place.devices
    )
    return Setup(
        argv=command,
        env={
            **os.environ,
            **accepted.order["handed"],
            **own,
            process_tree.MARK: given["env"][process_tree.MARK],
        },
        cgroup=given["cgroup"],
        cpus=given["cpus"],
        memory_nodes=given["memory_nodes"],
    )


def _notify_agent(folder: Path) -> None:
    """Notify the agent that the attempt's files changed; without an agent nothing happens."""
    with suppress(OSError):
        fifo = os.open(
            folder / attempt_files.NOTIFY_FIFO, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
        )
        try:
            os.write(fifo, _NOTIFICATION)
        finally:
            os.close(fifo)


def _agent_listens(folder: Path) -> bool:
    with suppress(OSError):
        os.close(
            os.open(folder / attempt_files.NOTIFY_FIFO, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        )
        return True
    return False


def _wait_for_release(folder: Path) -> None:
    until(lambda: not folder.exists() or not _agent_listens(folder), _RELEASE_SECONDS)


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until it holds, so long; whether it does."""
    last = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= last:
            return False
        time.sleep(PAUSE_SECONDS)
    return True
