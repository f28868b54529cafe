"""The main program of the shim: order, start, wait, end.

It inherits LOCK, held for its lifetime, and REPORT, closed once the answer is written. SIGTERM,
SIGINT, SIGHUP and similar go to the program; SIGUSR1 kills everything. If the shim is killed, the
kernel kills the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time

from numalet.agent.host.runtime.shim import attempt_files, process_tree
from numalet.agent.host.runtime.shim.attempt_files import AttemptLog, AttemptReport, Stream, stamp
from numalet.agent.host.runtime.shim.begin import (
    Setup,
    StageFailed,
    adopt_orphans,
    become,
    close_others,
    join,
    set_oom_score_adj,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Final

LOCK: Final = 3
REPORT: Final = 4
KILL_ALL: Final = signal.SIGUSR1
PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2)
OWN_SCORE: Final = -999
"""The kernel should kill the shim last, because its program dies with it.

-1000 would exempt it entirely.
"""
NOT_SPARED: Final = "runtime/oom-score-not-set"
_PAUSE_SECONDS: Final = 0.02
"""Delay between two rounds of killing leftovers."""


def main(folder: str | Path) -> int:
    """Run one attempt from its order to its end. The agent ignores the exit status."""
    # Descriptors of whatever started the agent would leak into the program.
    close_others(REPORT)
    for descriptor in (LOCK, REPORT):
        os.set_inheritable(descriptor, False)
    adopt_orphans()
    order = attempt_files.read(folder, attempt_files.LAUNCH)
    if order is None:
        return 2
    if order.get("shim_cgroup"):
        # If it stays in the agent's unit, a signal to the whole unit also reaches the program.
        with contextlib.suppress(OSError):
            join(order["shim_cgroup"])
    report = AttemptReport(folder)
    # Before the fork: the program sets its own score afterwards.
    set_oom_score_adj(OWN_SCORE)
    watch = _Watch(
        order, AttemptLog(f"{folder}/{attempt_files.LOG}", order["log_bytes"], order["log_files"])
    )
    problem = watch.begin()
    if problem is not None:
        report.not_started(problem)
        return 1
    report.started(watch.started())
    # The agent waits for EOF, so close after the answer is on disk.
    os.close(REPORT)
    watch.wait()
    report.ended(watch.ended(order.get("cgroup")))
    return 0


class _Watch:
    def __init__(self, order: dict[str, Any], log: AttemptLog) -> None:
        self._order = order
        self._log = log
        self._pid = 0
        self._own_pid = os.getpid()
        self._status: int | None = None
        """The wait status, once the program has ended."""
        self._since = ""
        self._until = ""
        self._notes: list[str] = []
        self._streams: list[Stream] = []
        # The kernel's counters belong to the cgroup, which may have served an earlier attempt; only
        # the difference belongs to this one.
        self._killed_before = out_of_memory(order.get("cgroup"))
        self._wakeup, self._alarm = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        """Signals arrive as bytes at the second descriptor."""

    def begin(self) -> dict[str, Any] | None:
        """Start the program; return the problem, if any."""
        # Before the fork: from now on signals wait in the pipe and cannot get lost.
        signal.set_wakeup_fd(self._alarm)
        for number in (*PASSED_ON, KILL_ALL, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        out, err, report = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
        try:
            self._pid = os.fork()
        except OSError as error:
            return {"stage": "fork", "errno": error.errno}
        if self._pid == 0:
            self._be_child(out[1], err[1], report[1])
        # Close the child's ends, or reading the report would never reach EOF.
        for each in (out, err, report):
            os.close(each[1])
        self._since = stamp()
        self._streams = [Stream(out[0], "stdout", self._log), Stream(err[0], "stderr", self._log)]
        with os.fdopen(report[0], "rb") as file:
            # The report ends when ``execve`` closes it, or with the error of a failed step.
            lines = [json.loads(line) for line in file.read().splitlines()]
        self._notes = [line["note"] for line in lines if "note" in line]
        return next((line for line in lines if "stage" in line), None)

    def _be_child(self, out: int, err: int, report: int) -> None:
        """In the child: become the program, or report the failed step."""
        try:
            # A separate session: a signal to the shim's group must not reach the program twice.
            os.setsid()
            # The pipe is shared with the shim, which must not receive the child's signals.
            signal.set_wakeup_fd(-1)
            for number in (*PASSED_ON, KILL_ALL, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
                os.dup2(source, target)
            # The umask of whatever started the agent would otherwise be inherited; container
            # runtimes start programs with 022.
            os.umask(0o022)
            if not set_oom_score_adj(self._order["oom_score_adj"]):
                os.write(report, json.dumps({"note": NOT_SPARED}).encode() + b"\n")
            become(Setup(**self._order["setup"]), self._own_pid)
        except StageFailed as failed:
            problem = {"stage": failed.stage.value, "errno": failed.number}
            os.write(report, json.dumps(problem).encode() + b"\n")
        finally:
            os._exit(1)

    def started(self) -> dict[str, Any]:
        program = process_tree.process(self._pid)
        ticks = 0 if program is None else program.started
        return {"pid": self._pid, "ticks": ticks, "at": self._since, "notes": self._notes}

    def wait(self) -> None:
        """Forward output and signals until the program and its descendants have ended."""
        # Not needed by a command that is its own shim, which loads this module.
        import selectors

        with selectors.DefaultSelector() as selector:
            selector.register(self._wakeup, selectors.EVENT_READ)
            for stream in self._streams:
                selector.register(stream.descriptor, selectors.EVENT_READ, stream)
            while self._status is None:
                for key, _ in selector.select():
                    if key.data is None:
                        self._answer(os.read(self._wakeup, 1024))
                    elif not key.data.carry():
                        selector.unregister(key.fd)
        self._until = stamp()
        self._clear()
        for stream in self._streams:
            stream.finish()
        self._log.close()

    def _answer(self, numbers: bytes) -> None:
        for number in numbers:
            if number == KILL_ALL:
                self._kill_all()
            elif number in PASSED_ON and self._status is None:
                # The program is not reaped yet, so its id is still its own.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, number)
        self._reap()

    def _reap(self) -> bool:
        """Reap ended children; False if no child remains."""
        with contextlib.suppress(ChildProcessError):
            while True:
                # -1 includes orphans, which the kernel gives to the shim as subreaper.
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._pid:
                    self._status = status
        return False

    def _kill_all(self) -> None:
        cgroup = self._order.get("cgroup")
        if cgroup is not None:
            with contextlib.suppress(OSError), open(f"{cgroup}/cgroup.kill", "w") as file:
                file.write("1")
        # Before Linux 5.14, and without a cgroup, the process tree is the only way.
        process_tree.kill(process_tree.descendants(os.getpid()))

    def _clear(self) -> None:
        """A container ends with its program, so kill the remains until all are reaped."""
        while self._reap():
            self._kill_all()
            time.sleep(_PAUSE_SECONDS)

    def ended(self, cgroup: str | None) -> dict[str, Any]:
        times = (self._since, self._until)
        return end_document(self._status or 0, times, cgroup, self._killed_before)


def end_document(
    status: int, times: tuple[str, str], cgroup: str | None, before: tuple[int, int]
) -> dict[str, Any]:
    """The content of ``end.json``; ``before`` is ``out_of_memory`` before the start."""
    code = os.waitstatus_to_exitcode(status)
    number = -code if code < 0 else None
    hits, kills = out_of_memory(cgroup)
    return {
        "code": code if number is None else 128 + number,
        "signal": number,
        "started_at": times[0],
        "finished_at": times[1],
        "limit_hits": hits - before[0],
        "oom_kills": kills - before[1],
    }


def out_of_memory(cgroup: str | None) -> tuple[int, int]:
    """Number of limit hits (pod and container) and of OOM kills."""
    if cgroup is None:
        return 0, 0
    kills = _memory_event(cgroup, "oom_kill")
    # The kernel counts a hit at the limit and above; a pod of one container has the same limit.
    return _memory_event(os.path.dirname(cgroup), "oom"), kills


def _memory_event(folder: str, wanted: str) -> int:
    with (
        contextlib.suppress(OSError, ValueError),
        open(f"{folder}/memory.events", encoding="ascii") as file,
    ):
        for line in file:
            name, number = line.split()
            if name == wanted:
                return int(number)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
