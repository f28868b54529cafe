"""From an order to a shim: its content, how the shim is spawned, what its answer means."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import resource
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numalet
from numalet.agent.host.cgroup_v2 import root
from numalet.agent.host.runtime.attempts import AttemptFolder, AttemptState
from numalet.agent.host.runtime.host_capabilities import HostCapabilities
from numalet.agent.host.runtime.port import TRANSIENT_ERRORS, Launch, NotStarted
from numalet.agent.host.runtime.shim import attempt_files, process_tree, watch
from numalet.agent.host.runtime.shim.begin import DEFAULT_PATH, FailedStep, Setup
from numalet.agent.host.runtime.watched import reap_when_ended
from numalet.core.model import cpu_set
from numalet.core.model.findings import BadInput, Finding
from numalet.io import os_problem
from numalet.shared.findings.runtime import (
    RuntimeCgroupNotJoined,
    RuntimeCpusRefused,
    RuntimeForkFailed,
    RuntimeMemoryNodesRefused,
    RuntimeNotExecutable,
    RuntimeNoWorkingDir,
    RuntimeProgramNotFound,
    RuntimeProgramRefused,
    RuntimeShimSilent,
    RuntimeStorage,
    RuntimeUserRefused,
)

LOG_BYTES: Final = 10 << 20
LOG_FILES: Final = 5
"""As the kubelet's defaults, ``containerLogMaxSize`` and ``containerLogMaxFiles``."""

_NOT_FOUND: Final = frozenset({errno.ENOENT, errno.ENOTDIR})
_NOT_EXECUTABLE: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.EISDIR})

_SOURCE: Final = str(Path(numalet.__file__).parents[1])
# The folder comes last, so that nothing in it can stand in for the standard library.
_CODE: Final = (
    "import sys; sys.path.append(sys.argv[1]); from pathlib import Path;"
    "from numalet.agent.host.runtime.shim.watch import main;"
    "sys.exit(main(Path(sys.argv[2])))"
)
_LOWEST_FREE: Final = 10
"""Above the descriptors of a shim (``watch.REPORT`` is the highest): none is overwritten."""
_OPEN_FILES: Final = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
"""What this process may have open before it allows itself more."""


def setup(launch: Launch, ground: HostCapabilities, mark: str) -> Setup:
    """What the program is given; by which means depends on what there is."""
    spec, cgroup = launch.spec, launch.settings.cgroup
    env = {"PATH": DEFAULT_PATH, **dict(spec.env), **launch.environment, process_tree.MARK: mark}
    tree = ground.tree
    nodes = cgroup.memory_nodes if ground.binds_memory else None
    return Setup(
        argv=(*spec.command, *spec.args),
        env=env,
        working_dir=spec.working_dir,
        user=spec.run_as_user,
        group=spec.run_as_group,
        cgroup=None if tree is None else str(tree.folder(launch.settings.path)),
        cpus=None if tree is not None or not cgroup.cpus else tuple(sorted(cgroup.cpus)),
        memory_nodes=None if tree is not None or not nodes else nodes,
        open_files=_OPEN_FILES,
    )


def order(launch: Launch, ground: HostCapabilities, attempt: AttemptFolder) -> Mapping[str, Any]:
    """The order for the shim."""
    prepared = setup(launch, ground, attempt.mark)
    leaf = None if ground.tree is None else root.of_shims(ground.tree)
    return {
        "setup": asdict(prepared),
        "shim_cgroup": None if leaf is None else str(leaf),
        "cgroup": prepared.cgroup,
        "path": launch.settings.path,
        "oom_score_adj": score(launch.settings.oom_score_adj, ground),
        "log_bytes": LOG_BYTES,
        "log_files": LOG_FILES,
        **({} if launch.runner is None else _foreground(launch)),
    }


def _foreground(launch: Launch) -> Mapping[str, Any]:
    """The part of the order that a runner adds: it has an environment of its own to begin with."""
    cgroup = launch.settings.cgroup
    return {
        "foreground": True,
        "handed": dict(launch.environment),
        "granted_cpus": cpu_set.text(cgroup.cpus or ()),
        "memory_max_bytes": cgroup.memory_max_bytes,
    }


def score(wanted: int, ground: HostCapabilities) -> int:
    """The program's ``oom_score_adj``; without a memory limit never protected."""
    return wanted if ground.tree is not None else max(wanted, 0)


def spawn(attempt: AttemptFolder, lock: int, report: int) -> int:
    """Start the shim in a session of its own, with the lock; its id. Raises ``OSError``."""
    words = [sys.executable, "-I", "-S", "-c", _CODE, _SOURCE, str(attempt.folder)]
    errors = str(attempt.folder / "shim.log")
    with contextlib.ExitStack() as spawned:
        high = [_raised(each, spawned) for each in (lock, report)]
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, high[0], watch.LOCK),
            (os.POSIX_SPAWN_DUP2, high[1], watch.REPORT),
        ]
        return os.posix_spawn(
            sys.executable, words, {}, file_actions=actions, setsid=True, setsigmask=()
        )


def _raised(descriptor: int, until: contextlib.ExitStack) -> int:
    """The same file under a number above those that a shim uses, until the block ends."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FREE)
    until.callback(os.close, high)
    return high


async def hand_over(attempt: AttemptFolder, patience_seconds: float) -> None:
    """Spawn the shim with the lock, and wait until it has closed its report.

    One that does not answer is killed, so that its program can not begin later.
    """
    lock = attempt.lock()
    if lock is None:
        return
    try:
        answer, report = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        # A lock that is never released would mean a shim that is about to answer.
        os.close(lock)
        raise
    try:
        try:
            pid = spawn(attempt, lock, report)
        finally:
            os.close(lock)
            os.close(report)
        try:
            await _until_readable(answer, patience_seconds)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
        finally:
            if attempt.state() is not AttemptState.RUNNING:
                reap_when_ended(pid)
    finally:
        os.close(answer)


async def _until_readable(descriptor: int, patience_seconds: float) -> None:
    """Wait for something, or the end, on a pipe. Raises ``TimeoutError``."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[None] = loop.create_future()

    def answer() -> None:
        loop.remove_reader(descriptor)
        answered.set_result(None)

    loop.add_reader(descriptor, answer)
    try:
        async with asyncio.timeout(patience_seconds):
            await answered
    finally:
        loop.remove_reader(descriptor)


def refusal(attempt: AttemptFolder) -> NotStarted:
    """Why an attempt did not start, from the shim's answer."""
    answer = attempt.document(attempt_files.REFUSED) or {}
    launch = attempt.document(attempt_files.LAUNCH) or {}
    return not_started(str(answer.get("stage")), int(answer.get("errno", 0)), launch["setup"])


def not_started(stage: str, number: int, given: Mapping[str, Any]) -> NotStarted:
    return NotStarted(_why(stage, number, given), number in TRANSIENT_ERRORS)


def _why(stage: str, number: int, given: Mapping[str, Any]) -> Finding:
    error = os.strerror(number)
    match stage:
        case FailedStep.CGROUP.value:
            return RuntimeCgroupNotJoined(cgroup=given["cgroup"] or "", error=error)
        case FailedStep.CPUS.value:
            return RuntimeCpusRefused(cpus=cpu_set.text(given["cpus"] or ()), error=error)
        case FailedStep.MEMORY_POLICY.value:
            nodes = cpu_set.text(given["memory_nodes"] or ())
            return RuntimeMemoryNodesRefused(nodes=nodes, error=error)
        case FailedStep.USER.value:
            return RuntimeUserRefused(user=str(given["user"]), error=error)
        case FailedStep.WORKING_DIR.value:
            return RuntimeNoWorkingDir(folder=given["working_dir"], error=error)
        case "fork":
            return RuntimeForkFailed(error=error)
        case _:
            return _of_program(number, given, error)


def _of_program(number: int, given: Mapping[str, Any], error: str) -> Finding:
    program = (given["argv"] or [""])[0]
    if number in _NOT_FOUND:
        return RuntimeProgramNotFound(program=program)
    if number in _NOT_EXECUTABLE:
        return RuntimeNotExecutable(program=program, error=error)
    return RuntimeProgramRefused(program=program, error=error)


def silent(attempt: AttemptFolder) -> NotStarted:
    """A shim that did not come to answer: the host is busy, and nothing else is known."""
    return NotStarted(RuntimeShimSilent(folder=str(attempt.folder)), is_transient=True)


def failed(why: type[RuntimeForkFailed | RuntimeStorage], error: BadInput | OSError) -> NotStarted:
    """A start that the operating system did not let happen."""
    cause = error if isinstance(error, OSError) else error.__cause__
    is_transient = isinstance(cause, OSError) and cause.errno in TRANSIENT_ERRORS
    return NotStarted(why(error=os_problem.text(error)), is_transient)
