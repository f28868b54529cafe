"""The shim itself: order, start, wait, end.

Descriptors that it is given: LOCK, which it holds as long as it lives, and REPORT, which it
closes when it is known what came of the order. It closes all others, which come from what started
the agent, so that a program has its input and its outputs and nothing else.

SIGTERM, SIGINT, SIGHUP and the like are passed on to the program; SIGUSR1 kills everything that the
program left or started. If the shim itself is killed, the kernel kills the program with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

from numalet.agent.host.runtime.shim import attempt_files, process_tree
from numalet.agent.host.runtime.shim.attempt_files import AttemptReport
from numalet.agent.host.runtime.shim.begin import (
    Setup,
    StageFailed,
    adopt_orphans,
    become,
    close_others,
    join,
    set_oom_score_adj,
)
from numalet.agent.host.runtime.shim.outputs import AttemptLog, Stream, stamp

LOCK: Final = 3
REPORT: Final = 4
KILL_ALL: Final = signal.SIGUSR1
PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2)
OWN_SCORE: Final = -999
"""The kernel kills nearly everything before a shim, with which its program dies; one above
-1000, which would exempt it altogether."""
NOT_SPARED: Final = "runtime/oom-score-not-set"
_PAUSE_SECONDS: Final = 0.02
"""Between two rounds of killing what a program left."""


def main(folder: Path) -> int:
    """Watch one attempt from its order to its end; its own exit status is not read."""
    close_others(REPORT)
    for descriptor in (LOCK, REPORT):
        os.set_inheritable(descriptor, False)
    adopt_orphans()
    order = attempt_files.read(folder, attempt_files.LAUNCH)
    if order is None:
        return 2
    if order.get("shim_cgroup"):
        # Where this can not be, a signal to all of the agent's unit reaches the program.
        with contextlib.suppress(OSError):
            join(order["shim_cgroup"])
    report = AttemptReport(folder)
    set_oom_score_adj(OWN_SCORE)
    watch = _Watch(
        order, AttemptLog(folder / attempt_files.LOG, order["log_bytes"], order["log_files"])
    )
    problem = watch.begin()
    if problem is not None:
        report.not_started(problem)
        return 1
    report.started(watch.started())
    os.close(REPORT)
    watch.wait()
    report.ended(watch.ended(order.get("cgroup")))
    return 0


class _Watch:
    """One program, from its start to its end."""

    def __init__(self, order: dict[str, Any], log: AttemptLog) -> None:
        self._order = order
        self._log = log
        self._pid = 0
        """The program's, from the fork on."""
        self._own_pid = os.getpid()
        self._status: int | None = None
        """The program's, as it was waited for; None while it runs."""
        self._since = ""
        self._until = ""
        self._notes: list[str] = []
        """Codes of what the child could not set, from its report."""
        self._streams: list[Stream] = []
        self._killed_before = out_of_memory(order.get("cgroup"))
        self._wakeup, self._alarm = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        """Signals go in at the second end, as bytes, and are read from the first."""

    def begin(self) -> dict[str, Any] | None:
        """Start the program; what went wrong, or None."""
        # From here on nothing that comes is lost: it waits in the pipe until it is read.
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
        for each in (out, err, report):
            os.close(each[1])
        self._since = stamp()
        self._streams = [Stream(out[0], "stdout", self._log), Stream(err[0], "stderr", self._log)]
        with os.fdopen(report[0], "rb") as file:
            lines = [json.loads(line) for line in file.read().splitlines()]
        self._notes = [line["note"] for line in lines if "note" in line]
        return next((line for line in lines if "stage" in line), None)

    def _be_child(self, out: int, err: int, report: int) -> None:
        """In the child: become the program, or say why not."""
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            for number in (*PASSED_ON, KILL_ALL, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
                os.dup2(source, target)
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
        """What is written when the program runs."""
        program = process_tree.process(self._pid)
        ticks = 0 if program is None else program.started
        return {"pid": self._pid, "ticks": ticks, "at": self._since, "notes": self._notes}

    def wait(self) -> None:
        """Carry output and signals until the program has ended and nothing of it is left."""
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
        """Do what the signals ask for."""
        for number in numbers:
            if number == KILL_ALL:
                self._kill_all()
            elif number in PASSED_ON and self._status is None:
                # It has not been waited for, so its id is still its own.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, number)
        self._reap()

    def _reap(self) -> bool:
        """Reap all children that ended; False when none is left."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._pid:
                    self._status = status
        return False

    def _kill_all(self) -> None:
        cgroup = self._order.get("cgroup")
        if cgroup is not None:
            with contextlib.suppress(OSError):
                Path(cgroup, "cgroup.kill").write_text("1", encoding="ascii")
        process_tree.kill(process_tree.descendants(os.getpid()))

    def _clear(self) -> None:
        """A container ends with its program: kill what is left, until nothing is."""
        while self._reap():
            self._kill_all()
            time.sleep(_PAUSE_SECONDS)

    def ended(self, cgroup: str | None) -> dict[str, Any]:
        """What is written when the program has ended."""
        times = (self._since, self._until)
        return end_document(self._status or 0, times, cgroup, self._killed_before)


def end_document(
    status: int, times: tuple[str, str], cgroup: str | None, before: tuple[int, int]
) -> dict[str, Any]:
    """How a program ended: its status as it was waited for, since when and until it ran.

    ``before`` is what ``out_of_memory`` said before it began.
    """
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
    """How often a limit was hit, the pod's own or the container's, and how many were killed.

    The kernel counts a hit where the limit is, and above; a pod of one container has the same
    limit as the container.
    """
    if cgroup is None:
        return 0, 0
    kills = _memory_event(Path(cgroup), "oom_kill")
    return _memory_event(Path(cgroup).parent, "oom"), kills


def _memory_event(folder: Path, wanted: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in (folder / "memory.events").read_text(encoding="ascii").splitlines():
            name, number = line.split()
            if name == wanted:
                return int(number)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
