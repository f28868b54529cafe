"""From an order to a running shim: content of the order, spawn, meaning of the answer."""

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
from pathlib import Path
from typing import Any, Final

import numalet
from numalet.agent.host.cgroup_v2 import root
from numalet.agent.host.runtime.attempts import AttemptFolder, AttemptState
from numalet.agent.host.runtime.enforcement import HostCapabilities
from numalet.agent.host.runtime.monitoring import reap_when_ended
from numalet.agent.host.runtime.port import TRANSIENT_ERRORS, Launch, NotStarted
from numalet.agent.host.runtime.shim import attempt_files, process_tree, watch
from numalet.agent.host.runtime.shim.begin import DEFAULT_PATH, FailedStep, Setup
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
"""Defaults of the kubelet's ``containerLogMaxSize`` and ``containerLogMaxFiles``."""

_NOT_FOUND: Final = frozenset({errno.ENOENT, errno.ENOTDIR})
_NOT_EXECUTABLE: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.EISDIR})

_SOURCE: Final = str(Path(numalet.__file__).parents[1])
# Appended, so that no module there can shadow the standard library.
_CODE: Final = (
    "import sys; sys.path.append(sys.argv[1]);"
    "from numalet.agent.host.runtime.shim.watch import main;"
    "sys.exit(main(sys.argv[2]))"
)
_LOWEST_FREE: Final = 10
"""Above ``watch.REPORT``, the highest descriptor of a shim, so dup2 never overwrites one."""
_OPEN_FILES: Final = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
"""The limit of this process before the agent raised it."""


def setup(launch: Launch, ground: HostCapabilities, mark: str) -> Setup:
    """Settings of the program. Without a cgroup tree: CPU affinity and memory policy."""
    spec, cgroup = launch.spec, launch.settings.cgroup
    env = {"PATH": DEFAULT_PATH, **dict(spec.env), **launch.environment, process_tree.MARK: mark}
    # The mark is last, so that no container can override it; ``strays`` relies on it.
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
    prepared = setup(launch, ground, attempt.mark)
    leaf = None if ground.tree is None else root.of_shims(ground.tree)
    return {
        "setup": vars(prepared),
        "shim_cgroup": None if leaf is None else str(leaf),
        "cgroup": prepared.cgroup,
        "path": launch.settings.path,
        "oom_score_adj": score(launch.settings.oom_score_adj, ground),
        "log_bytes": LOG_BYTES,
        "log_files": LOG_FILES,
        **({} if launch.runner is None else _foreground(launch)),
    }


def _foreground(launch: Launch) -> Mapping[str, Any]:
    """Foreground keys: the runner extends its own environment."""
    cgroup = launch.settings.cgroup
    return {
        "foreground": True,
        "handed": dict(launch.environment),
        "granted_cpus": cpu_set.text(cgroup.cpus or ()),
        "memory_max_bytes": cgroup.memory_max_bytes,
    }


def score(wanted: int, ground: HostCapabilities) -> int:
    """The program's ``oom_score_adj``; not below 0 without a memory limit."""
    return wanted if ground.tree is not None else max(wanted, 0)


def spawn(attempt: AttemptFolder, lock: int, report: int) -> int:
    """Spawn the shim with the lock, in a new session; return its pid. Raises ``OSError``."""
    # Isolated and without site packages: it starts faster and reads no user files.
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
            # An empty environment: variables of the agent must not change how the shim's Python
            # starts. A new session keeps a terminal's Ctrl-C away from the shim.
            sys.executable,
            words,
            {},
            file_actions=actions,
            setsid=True,
            setsigmask=(),
        )


def _raised(descriptor: int, until: contextlib.ExitStack) -> int:
    """Duplicate a descriptor above those of a shim; closed with the stack."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FREE)
    until.callback(os.close, high)
    return high


async def hand_over(attempt: AttemptFolder, patience_seconds: float) -> None:
    """Spawn the shim and wait until it closes its report."""
    lock = attempt.lock()
    if lock is None:
        return
    try:
        answer, report = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        # If it stayed open, the attempt would appear to have a shim that is about to answer.
        os.close(lock)
        raise
    try:
        try:
            pid = spawn(attempt, lock, report)
        finally:
            # This process must drop its copies, or the pipe would never report EOF.
            os.close(lock)
            os.close(report)
        try:
            await _until_readable(answer, patience_seconds)
        except TimeoutError:
            # It must not start the program after the agent has reported a failure.
            os.kill(pid, signal.SIGKILL)
            raise
        finally:
            # A running shim is reaped when its pidfd becomes readable.
            if attempt.state() is not AttemptState.RUNNING:
                reap_when_ended(pid)
    finally:
        os.close(answer)


async def _until_readable(descriptor: int, patience_seconds: float) -> None:
    """Wait for data or EOF. Raises ``TimeoutError``."""
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
    """Translate the shim's answer."""
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
    """The shim did not answer in time: the host is probably busy."""
    return NotStarted(RuntimeShimSilent(folder=str(attempt.folder)), is_transient=True)


def failed(why: type[RuntimeForkFailed | RuntimeStorage], error: BadInput | OSError) -> NotStarted:
    """The operating system prevented the start."""
    cause = error if isinstance(error, OSError) else error.__cause__
    is_transient = isinstance(cause, OSError) and cause.errno in TRANSIENT_ERRORS
    return NotStarted(why(error=os_problem.text(error)), is_transient)
