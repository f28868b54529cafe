"""Starts the command as a child, accompanies it to its end, and kills what remains.

The child stays in the session and process group, so it has the terminal, and inherits the caller's
descriptors. When it stops, this process stops too and the shell regains the terminal. As the shim,
this loads little.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace

from numalet.agent.host.runtime.shim import begin, process_tree
from numalet.agent.host.runtime.shim.begin import Setup, StageFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

EXIT_REFUSED: Final = 125
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
"""``SI_KERNEL``: sent by the kernel for the terminal, not by a process."""

_ADDRESSEES: Final = ("LISTEN_PID", "WATCHDOG_PID")
_PAUSE_SECONDS: Final = 0.01


class StartProblem(SimpleNamespace):
    """The failed step and its errno."""

    stage: str
    number: int


@cache
def ignored_by_caller() -> frozenset[int]:
    """Signals that the caller ignores, among those that Python always ignores.

    Python overwrites their disposition at startup, so read the parent's instead.
    """
    # Called early, because the parent may end and init becomes the new parent.
    parent = f"/proc/{os.getppid()}"
    try:
        with open(f"{parent}/status", errors="replace") as file:
            ignored = [line.split()[1] for line in file if line.startswith("SigIgn:")]
        # The program of another user's process is not readable.
        program = os.readlink(f"{parent}/exe") if os.access(f"{parent}/exe", os.R_OK) else ""
    except OSError:
        return frozenset()
    # A Python parent ignores them for itself, and resets them for its children.
    if not ignored or os.path.basename(program).startswith(("python", "pypy")):
        return frozenset()
    mask = int(ignored[0], 16)
    return frozenset(each for each in begin.IGNORED_BY_PYTHON if mask >> (each - 1) & 1)


@contextmanager
def signals_held() -> Iterator[None]:
    """Block signals from before the start, so that ``accompany`` receives all of them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start(setup: Setup, score: int) -> int | StartProblem:
    """Fork and start the command; return its pid. The caller blocks signals."""
    answer, report = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    try:
        pid = _fork()
    except OSError as error:
        for each in (answer, report):
            os.close(each)
        return StartProblem(stage="fork", number=error.errno or 0)
    if pid == 0:
        _be_child(setup, score, parent, report)
    # Else reading the report would never reach EOF.
    os.close(report)
    with os.fdopen(answer, "rb") as file:
        problem: dict[str, Any] | None = json.loads(file.read() or b"null")
    # CLOEXEC closed the report: the command has started.
    if problem is None:
        return pid
    os.waitpid(pid, 0)
    return StartProblem(stage=problem["stage"], number=problem["errno"])


def _fork() -> int:
    return os.fork()


def _be_child(setup: Setup, score: int, parent: int, report: int) -> None:
    """In the child: become the command, or report the failed step."""
    try:
        # Python's handler must not run between unblocking and ``execve``.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        begin.set_oom_score_adj(score)
        setup.env = _addressed(setup.env, parent)
        begin.become(setup, parent, ignored_by_caller())
    except StageFailed as failed:
        problem = {"stage": failed.stage.value, "errno": failed.number}
        os.write(report, json.dumps(problem).encode())
    finally:
        os._exit(EXIT_REFUSED)


def _addressed(env: Mapping[str, str], parent: int) -> Mapping[str, str]:
    """Replace the parent's pid in variables that address a process.

    ``sd_listen_fds(3)`` and ``sd_watchdog_enabled(3)`` ignore variables with another pid.
    """
    own = {name: str(os.getpid()) for name in _ADDRESSEES if env.get(name) == str(parent)}
    return {**env, **own}


def accompany(pid: int) -> int:
    """Forward signals until the command ends; return its wait status."""
    while True:
        info = signal.sigwaitinfo(_WATCHED)
        if info.si_signo != signal.SIGCHLD:
            # The terminal signals the whole process group, so the command already has it.
            if info.si_code != _FROM_TERMINAL:
                os.kill(pid, info.si_signo)
            continue
        status = _status_of(pid)
        if status is None:
            continue
        if os.WIFSTOPPED(status):
            # Stop too, so that the shell regains the terminal. After ``fg``, wake the command as
            # well.
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)
            continue
        return status


def exit_status(status: int) -> int:
    """As a shell reports it: 128 plus the number for a signal."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _status_of(pid: int) -> int | None:
    """The command's wait status if it stopped or ended; also reaps orphans."""
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


def kill_descendants() -> None:
    """Kill the command's remaining processes; as subreaper, this process is their ancestor."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            # A killed process may have forked, so repeat until no child remains.
            process_tree.kill(process_tree.descendants(os.getpid()))
            time.sleep(_PAUSE_SECONDS)
