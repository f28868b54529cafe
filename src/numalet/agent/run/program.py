"""The command in its place: its order, its run, the release of the place.

An ``Allocator`` finds the place. The order is accepted from an agent, or written without one. The
command is its own shim: it holds the attempt's lock and writes the same files. An agent may
therefore start or stop while the program runs. See ``agent.host.runtime.offers``.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from numalet.agent.findings.run import RunNodesExhausted, RunOverItsMemory
from numalet.agent.host.runtime.attempts import AttemptFolder
from numalet.agent.host.runtime.shim import attempt_files, begin, process_tree, watch
from numalet.agent.host.runtime.shim.attempt_files import AttemptReport, stamp
from numalet.agent.host.runtime.shim.begin import Setup
from numalet.agent.run import child
from numalet.agent.run.child import EXIT_REFUSED, StartProblem
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output.run_document import RunDocument
from numalet.io import os_problem
from numalet.shared.findings.runtime import RuntimeStorage

Answer: TypeAlias = RunDocument | Finding
"""An answer with or without a place; a finding if no decision was possible."""

PAUSE_SECONDS: Final = 0.005
_RELEASE_SECONDS: Final = 5.0
"""How long to wait for the agent to free the place, so that the next command finds it."""
_NOTIFICATION: Final = b"!"


class ReadyPlace(Value):
    setup: Setup
    oom_score_adj: int
    memory_max_bytes: int
    """The cgroup's limit, 0 without one; only to explain an OOM kill."""
    numa_nodes: tuple[int, ...]
    """Only to explain an OOM kill."""
    report: AttemptReport


class CommandOutcome(Value):
    """The exit status, and a finding for the user."""

    status: int
    finding: Finding | None = None


def run(ready: ReadyPlace) -> CommandOutcome:
    """Run the command to its end; nothing of it is left."""
    # The command's orphans become children of this process, so it can kill them.
    begin.adopt_orphans()
    with child.signals_held():
        try:
            return _run(ready)
        except OSError as error:
            return CommandOutcome(EXIT_REFUSED, RuntimeStorage(error=os_problem.text(error)))
        finally:
            child.kill_descendants()


def _run(ready: ReadyPlace) -> CommandOutcome:
    cgroup, report = ready.setup.cgroup, ready.report
    before, since = watch.out_of_memory(cgroup), stamp()
    pid = child.start(ready.setup, ready.oom_score_adj)
    if isinstance(pid, StartProblem):
        report.not_started({"stage": pid.stage, "errno": pid.number})
        why = child.why(pid, ready.setup).why
        return CommandOutcome(child.EXITS.get(type(why), EXIT_REFUSED), why)
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
    if code != 128 + signal.SIGKILL or ended["oom_kills"] <= 0:
        return CommandOutcome(code)
    limit = ready.memory_max_bytes
    return CommandOutcome(code, _killed_for_memory(ended["limit_hits"], limit, ready.numa_nodes))


def _killed_for_memory(limit_hits: int, limit_bytes: int, nodes: Iterable[int]) -> Finding:
    if limit_hits:
        return RunOverItsMemory(limit_bytes=limit_bytes)
    return RunNodesExhausted(nodes=cpu_set.text(nodes))


def environment(
    cpus: str, place: RunDocument, of_devices: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of the command: inherited, from devices, and about its place.

    ``cpus`` is a CPU list; ``of_devices`` has variables of device plugins.
    """
    devices = (f"{name}={','.join(ids)}" for name, ids in place.devices.items())
    return {
        **os.environ,
        **(of_devices or {}),
        "NUMALET_CPUS": cpus,
        "NUMALET_MEMORY_NODES": cpu_set.text(place.numa_nodes),
        "NUMALET_DEVICES": ";".join(devices),
    }


class Allocator(Protocol):
    """Allocates a place for one command.

    Methods raise ``BadInput``, and ``AgentGone`` or ``AgentHolds`` if another process takes over
    the state before the command has its place.
    """

    @property
    def remarks(self) -> Sequence[Finding]:
        """Notes for the user about the node state."""

    def preview(self) -> Answer:
        """Decide without a change."""

    def place(self) -> Answer:
        """Allocate a place until ``release`` or the end of this process."""

    def place_or_wait(self, seconds: float) -> Answer:
        """As ``place``; if full, first wait for a change, at most this long."""

    def explanation(self) -> Explanation | None:
        """The reason for the last refusal, if known."""

    def on_refusal(self) -> Iterator[Finding]:
        """Notes to print after the explanation of the last refusal."""

    def prepare(self, place: RunDocument) -> ReadyPlace | Finding:
        """Apply all settings, so that the command can start."""

    def release(self) -> None:
        """Free the place; all processes in it have ended."""


class AcceptedOrder(Value):
    """``lock`` is a descriptor."""

    folder: Path
    lock: int
    order: Mapping[str, Any]


class NotifyingReport(AttemptReport):
    def started(self, program: dict[str, Any]) -> None:
        super().started(program)
        _write(self.folder, _NOTIFICATION)


def accept_order(folder: Path) -> AcceptedOrder | None:
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


def write_order(attempt: AttemptFolder, order: Mapping[str, Any]) -> AcceptedOrder:
    """Write an order without an agent; an agent that starts later can adopt it.

    Raises ``BadInput`` and ``OSError``.
    """
    attempt.prepare(order)
    descriptor = attempt.lock()
    assert descriptor is not None
    with suppress(FileExistsError):
        os.mkfifo(attempt.folder / attempt_files.NOTIFY_FIFO, 0o600)
    return AcceptedOrder(attempt.folder, descriptor, order)


def ready_place(
    accepted: AcceptedOrder, place: RunDocument, command: tuple[str, ...]
) -> ReadyPlace:
    """Build the place from the order; allocate the report's files. Raises ``OSError``."""
    order, given = accepted.order, accepted.order["setup"]
    env = {
        **environment(order["granted_cpus"], place, order["handed"]),
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
    _write(accepted.folder, _NOTIFICATION)
    last = time.monotonic() + _RELEASE_SECONDS
    # An empty write fails only if no process reads the FIFO.
    while accepted.folder.exists() and _write(accepted.folder, b""):
        if time.monotonic() >= last:
            return
        time.sleep(PAUSE_SECONDS)


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
