"""The child that becomes the command: how it is started, and how it is accompanied to its end.

The command stays in our session and process group, so that it has the terminal. What the terminal
sends goes to the whole group, the command included; only what is sent to us alone is
passed on. When the command stops, so do we, and the shell takes its terminal back. It has the
descriptors that our caller gave to us; all of our own are closed when it begins.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from numalet.agent.host.runtime import starting
from numalet.agent.host.runtime.port import NotStarted
from numalet.agent.host.runtime.shim import begin
from numalet.agent.host.runtime.shim.begin import Setup, StageFailed
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.shared.findings.runtime import (
    RuntimeNotExecutable,
    RuntimeProgramNotFound,
    RuntimeProgramRefused,
)

EXIT_REFUSED: Final = 125
EXIT_NOT_EXECUTABLE: Final = 126
EXIT_NOT_FOUND: Final = 127
EXITS: Final[Mapping[type[Finding], int]] = {
    RuntimeProgramNotFound: EXIT_NOT_FOUND,
    RuntimeNotExecutable: EXIT_NOT_EXECUTABLE,
    RuntimeProgramRefused: EXIT_NOT_EXECUTABLE,
}
_PASSED_ON: Final = frozenset(
    {
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGTSTP,
        signal.SIGCONT,
    }
)
_WATCHED: Final = frozenset({*_PASSED_ON, signal.SIGCHLD})
_FROM_TERMINAL: Final = 128
"""``SI_KERNEL``: the kernel sent it, on behalf of the terminal, and not a process."""


_ADDRESSEES: Final = ("LISTEN_PID", "WATCHDOG_PID")


class StartProblem(Value):
    """The step at which a start failed, and the error number of the kernel."""

    stage: str
    number: int


@cache
def ignored_by_caller() -> frozenset[int]:
    """Which signals that Python always ignores our caller ignored too.

    Python does not keep what it found, so this is what our parent ignores itself. A parent that is
    Python ignores them for its own sake, and resets them for its children. Asked early: a parent
    may end, and another process takes its place.
    """
    parent = Path("/proc") / str(os.getppid())
    try:
        status = (parent / "status").read_text(errors="replace")
        # A parent of another user's does not show its program.
        program = (parent / "exe").readlink().name if os.access(parent / "exe", os.R_OK) else ""
    except OSError:
        return frozenset()
    found = re.search(r"^SigIgn:\s*([0-9a-f]+)$", status, re.MULTILINE)
    if found is None or program.startswith(("python", "pypy")):
        return frozenset()
    mask = int(found[1], 16)
    return frozenset(each for each in begin.IGNORED_BY_PYTHON if mask >> (each - 1) & 1)


@contextmanager
def signals_held() -> Iterator[None]:
    """Let signals wait for ``accompany``, from before the command begins."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def why(problem: StartProblem, setup: Setup) -> NotStarted:
    given = {
        "argv": setup.argv,
        "cpus": setup.cpus,
        "memory_nodes": setup.memory_nodes,
        "user": setup.user,
        "working_dir": setup.working_dir,
        "cgroup": setup.cgroup,
    }
    return starting.not_started(problem.stage, problem.number, given)


def start(setup: Setup, score: int) -> int | StartProblem:
    """The id of the process that became the command, or why it did not; signals are held."""
    answer, report = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    try:
        pid = _fork()
    except OSError as error:
        for each in (answer, report):
            os.close(each)
        return StartProblem("fork", error.errno or 0)
    if pid == 0:
        _be_child(setup, score, parent, report)
    os.close(report)
    with os.fdopen(answer, "rb") as file:
        problem: dict[str, Any] | None = json.loads(file.read() or b"null")
    if problem is None:
        return pid
    os.waitpid(pid, 0)
    return StartProblem(problem["stage"], problem["errno"])


def _fork() -> int:
    return os.fork()


def _be_child(setup: Setup, score: int, parent: int, report: int) -> None:
    """In the child: become the command, or say why not."""
    try:
        # Nothing of Python's own is to answer a signal before the command does.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        begin.set_oom_score_adj(score)
        prepared = replace(setup, env=_addressed(setup.env, parent))
        begin.become(prepared, parent, ignored_by_caller())
    except StageFailed as failed:
        problem = {"stage": failed.stage.value, "errno": failed.number}
        os.write(report, json.dumps(problem).encode())
    finally:
        os._exit(EXIT_REFUSED)


def _addressed(env: Mapping[str, str], parent: int) -> Mapping[str, str]:
    """The environment of this process, with what was meant for our parent's process meant for it.

    A service manager that hands sockets over, or wants signs of life, names the process that may
    take them (``sd_listen_fds(3)``, ``sd_watchdog_enabled(3)``); the sockets are inherited.
    """
    own = {name: str(os.getpid()) for name in _ADDRESSEES if env.get(name) == str(parent)}
    return {**env, **own}


def accompany(pid: int) -> int:
    """Pass signals on until the command ends; its status, as it is waited for."""
    while True:
        info = signal.sigwaitinfo(_WATCHED)
        if info.si_signo != signal.SIGCHLD:
            if info.si_code != _FROM_TERMINAL:
                os.kill(pid, info.si_signo)
            continue
        status = _status_of(pid)
        if status is None:
            continue
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)
            continue
        return status


def exit_status(status: int) -> int:
    """The status as a shell has it: 128 and more for a signal."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _status_of(pid: int) -> int | None:
    """The status of the command if it stopped or ended; orphans that ended are put to rest."""
    ended = None
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return ended
        if child == 0:
            return ended
        if child == pid:
            ended = status
