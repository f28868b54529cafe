"""The command itself: started in its place, with the terminal, and accompanied to its end.

The command stays in our session and process group, so that it has the terminal. What the terminal
sends goes to the whole group, the command included; only what somebody sends to us alone is
passed on. When the command stops, so do we, and the shell takes its terminal back.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from numalet.adapters import faults
from numalet.adapters.cgroup_v2 import counters, writing
from numalet.adapters.cgroup_v2.writing import Refusal
from numalet.adapters.runtime import starting
from numalet.adapters.runtime.levels import Ground
from numalet.adapters.runtime.port import NotStarted
from numalet.adapters.runtime.watcher import begin, family
from numalet.adapters.runtime.watcher.begin import Setup, StageFailed
from numalet.agent.foreground import leftovers
from numalet.agent.foreground.placing import Placed
from numalet.model import cpu_set
from numalet.model.findings import Finding

EXIT_REFUSED: Final = 125
EXIT_NOT_EXECUTABLE: Final = 126
EXIT_NOT_FOUND: Final = 127
_EXITS: Final[Mapping[str, int]] = {
    "runtime/program-not-found": EXIT_NOT_FOUND,
    "runtime/not-executable": EXIT_NOT_EXECUTABLE,
    "runtime/program-refused": EXIT_NOT_EXECUTABLE,
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
_FROM_TERMINAL: Final = 128
"""``SI_KERNEL``: the kernel sent it, on behalf of the terminal, and not a process."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The exit status, and what is to be said about it."""

    status: int
    finding: Finding | None = None


def run(placed: Placed, command: tuple[str, ...], ground: Ground) -> Outcome:
    """Run the command in its place, to its end; nothing of it is left."""
    try:
        refused = _enclose(placed, ground)
        if refused is not None:
            return Outcome(EXIT_REFUSED, Finding(refused.code, refused.fields))
        begin.adopt_orphans()
        return _run(_setup(placed, command, ground), placed, ground)
    finally:
        leftovers.reap()
        if ground.tree is not None:
            leftovers.remove(ground.tree, placed.settings.path.rpartition("/")[0])


def _run(setup: Setup, placed: Placed, ground: Ground) -> Outcome:
    watched = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        score = starting.score(placed.settings.oom_score_adj, ground)
        started = _fork(setup, score)
        if isinstance(started, NotStarted):
            status = _EXITS.get(started.code, EXIT_REFUSED)
            return Outcome(status, Finding(started.code, started.fields))
        status = _accompany(started, watched)
        return Outcome(status, _killed_for_memory(status, placed, ground))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _enclose(placed: Placed, ground: Ground) -> Refusal | None:
    """Make the cgroups of the pod and its container, with all settings in force."""
    tree, path = ground.tree, placed.settings.path
    if tree is None:
        return None
    try:
        tree.make(path)
    except OSError as error:
        fields = {"cgroup": path, "file": path, "value": "", "error": error.strerror or str(error)}
        return Refusal(writing.REFUSED, fields)
    parent = path.rpartition("/")[0]
    for each, settings in ((parent, placed.above), (path, placed.settings.cgroup)):
        applied = writing.apply(tree, each, settings)
        if isinstance(applied, Refusal):
            return applied
    return None


def _setup(placed: Placed, command: tuple[str, ...], ground: Ground) -> Setup:
    held, cgroup, tree = placed.placement, placed.settings.cgroup, ground.tree
    nodes = cgroup.memory_nodes if ground.binds_memory else None
    devices = (f"{name}={','.join(ids)}" for name, ids in held.devices.items())
    own = {
        family.MARK: placed.pod.uid,
        "NUMALET_CPUS": cpu_set.text(cgroup.cpus or ()),
        "NUMALET_MEMORY_NODES": cpu_set.text(held.memory_nodes),
        "NUMALET_DEVICES": ";".join(devices),
    }
    return Setup(
        argv=command,
        env={**os.environ, **own},
        cgroup=None if tree is None else str(tree.folder(placed.settings.path)),
        cpus=None if tree is not None or not cgroup.cpus else tuple(sorted(cgroup.cpus)),
        memory_nodes=None if tree is not None or not nodes else nodes,
    )


def _fork(setup: Setup, score: int) -> int | NotStarted:
    """The id of the process that became the command, or why it did not."""
    answer, report = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    try:
        with faults.point("process.fork"):
            pid = os.fork()
    except OSError as error:
        for each in (answer, report):
            os.close(each)
        return NotStarted(starting.FORK_FAILED, {"error": error.strerror or str(error)})
    if pid == 0:
        _be_child(setup, score, parent, report)
    os.close(report)
    with os.fdopen(answer, "rb") as file:
        problem: dict[str, Any] | None = json.loads(file.read() or b"null")
    if problem is None:
        return pid
    os.waitpid(pid, 0)
    given = {
        "argv": setup.argv,
        "cpus": setup.cpus,
        "memory_nodes": setup.memory_nodes,
        "user": setup.user,
        "working_dir": setup.working_dir,
        "cgroup": setup.cgroup,
    }
    return starting.not_started(problem["stage"], problem["errno"], given)


def _be_child(setup: Setup, score: int, parent: int, report: int) -> None:
    """In the child: become the command, or say why not."""
    try:
        # Nothing of Python's own is to answer a signal before the command does.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        begin.spare(score)
        begin.become(setup, parent)
    except StageFailed as failed:
        problem = {"stage": failed.stage.value, "errno": failed.number}
        os.write(report, json.dumps(problem).encode())
    finally:
        os._exit(EXIT_REFUSED)


def _accompany(pid: int, watched: set[signal.Signals]) -> int:
    """Pass signals on until the command ends; its exit status, 128 and more for a signal."""
    while True:
        info = signal.sigwaitinfo(watched)
        if info.si_signo != signal.SIGCHLD:
            if info.si_code != _FROM_TERMINAL:
                os.kill(pid, info.si_signo)
            continue
        status = _looked(pid)
        if status is None:
            continue
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)
            continue
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code


def _looked(pid: int) -> int | None:
    """The status of the command if it stopped or ended; orphans that ended are put to rest."""
    found = None
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return found
        if child == 0:
            return found
        if child == pid:
            found = status


def _killed_for_memory(status: int, placed: Placed, ground: Ground) -> Finding | None:
    if ground.tree is None or status != 128 + signal.SIGKILL:
        return None
    path = placed.settings.path
    if not counters.memory_events(ground.tree, path).kills:
        return None
    # The pod has the same limit as its only container, and the kernel counts where it was hit.
    pod = counters.memory_events(ground.tree, path.rpartition("/")[0])
    limit = placed.settings.cgroup.memory_max_bytes or 0
    nodes = cpu_set.text(placed.placement.memory_nodes)
    code = "run/over-its-memory" if pod.limit_hits else "run/nodes-exhausted"
    return Finding(code, {"limit_bytes": limit, "nodes": nodes})
