"""Runs in the program's process before its first instruction.

In this order: cgroup, CPU affinity, memory policy, user, folder, ``execve``. Everything set here is
inherited by the program's children.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pwd
import resource
import signal
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, NoReturn

NO_GROUP: Final = 65534
"""``nogroup``, for a user without an entry in the system's files."""
DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_MPOL_BIND: Final = 2
_BITS: Final = 64
_SET_MEMPOLICY: Final = {
    "x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261, "s390x": 270,
}  # fmt: skip
_GET_MEMPOLICY: Final = {
    "x86_64": 239, "aarch64": 236, "riscv64": 236, "ppc64le": 260, "s390x": 269,
}  # fmt: skip
_FORGIVING: Final = (errno.EACCES, errno.EPERM)
# Python ignores these at its start, and ``execve`` keeps that.
IGNORED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)


class FailedStep(Enum):
    CGROUP = "cgroup"
    CPUS = "cpus"
    MEMORY_POLICY = "memory-policy"
    USER = "user"
    WORKING_DIR = "working-dir"
    PROGRAM = "program"


class StageFailed(Exception):  # noqa: N818 - carried out of the process as values
    """A step was refused by the kernel."""

    def __init__(self, stage: FailedStep, number: int) -> None:
        super().__init__(stage, number)
        self.stage = stage
        self.number = number


class Setup(SimpleNamespace):
    """Settings of a program; unset ones are inherited.

    A ``user`` without a ``group`` gets the groups of the system's files.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    working_dir: str = ""
    user: int | None = None
    group: int | None = None
    cgroup: str | None = None
    cpus: Sequence[int] | None = None
    memory_nodes: Sequence[int] | None = None
    open_files: int | None = None


def become(setup: Setup, parent: int, ignored: Collection[int] = ()) -> NoReturn:
    """Turn this forked child into the program. Raises ``StageFailed``.

    The program dies with ``parent``. Signals in ``ignored`` stay ignored.
    """
    # Before the change of user: the program's user may not write to ``cgroup.procs``.
    if setup.cgroup is not None:
        _step(FailedStep.CGROUP, join, setup.cgroup)
    if setup.cpus is not None:
        _step(FailedStep.CPUS, os.sched_setaffinity, 0, setup.cpus)
    if setup.memory_nodes is not None:
        _step(FailedStep.MEMORY_POLICY, bind_memory, setup.memory_nodes)
    person = Person.of(setup.user, setup.group)
    _step(FailedStep.USER, _become_user, setup.user, setup.group, person)
    # A change of user clears PDEATHSIG, so set it afterwards.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have died before prctl, and no signal would follow.
    if os.getppid() != parent:
        os._exit(1)
    if setup.working_dir:
        _step(FailedStep.WORKING_DIR, os.chdir, setup.working_dir)
    if setup.open_files is not None:
        # The agent raised its own limit; the program gets the original one.
        _set_open_files_limit(setup.open_files)
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    # ``execve`` keeps the signal mask too.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _execute(setup.argv, {**person.env, **setup.env})


class Person(SimpleNamespace):
    """Groups and variables of a user; unset groups are inherited."""

    group: int | None
    groups: Sequence[int] | None
    env: Mapping[str, str]

    @classmethod
    def of(cls, user: int | None, group: int | None) -> Person:
        """Read them from the system's files; only root keeps group 0 without asking for it."""
        if user is None:
            return cls(group=group, groups=None if group is None else [group], env={})
        try:
            entry = pwd.getpwuid(user)
        except (KeyError, OverflowError):
            of_user = NO_GROUP if group is None else group
            return cls(group=of_user, groups=[of_user], env={"HOME": "/"})
        env = {"HOME": entry.pw_dir or "/", "USER": entry.pw_name}
        if group is not None:
            return cls(group=group, groups=[group], env=env)
        own, groups = entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
        if user != 0:
            own = own or NO_GROUP
            groups = [each for each in groups if each != 0] or [own]
        return cls(group=own, groups=groups, env=env)


def close_others(highest: int) -> None:
    """Close all descriptors above this one, which the parent's caller may have leaked."""
    for name in [entry.name for entry in os.scandir("/proc/self/fd")]:
        if int(name) > highest:
            # ``scandir`` closed its own descriptor already.
            with contextlib.suppress(OSError):
                os.close(int(name))


def set_oom_score_adj(score: int) -> bool:
    """Set the score; False if not permitted, since a lower score needs CAP_SYS_RESOURCE."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(score))
    except OSError:
        return False
    return True


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent has ended."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def bind_memory(nodes: Sequence[int]) -> None:
    """Allow memory only from these NUMA nodes. Raises ``OSError``."""
    words = (max(nodes) // _BITS) + 1
    mask = (ctypes.c_ulong * words)()
    for node in nodes:
        mask[node // _BITS] |= 1 << (node % _BITS)
    # The kernel uses one bit less than ``maxnode``.
    _syscall(_SET_MEMPOLICY, _MPOL_BIND, mask, words * _BITS + 1)


def can_bind_memory() -> bool:
    """Reads the policy only; seccomp of container engines often blocks both calls."""
    mode = ctypes.c_int()
    try:
        _syscall(_GET_MEMPOLICY, ctypes.byref(mode), None, 0, None, 0)
    except OSError:
        return False
    return True


def _step(stage: FailedStep, function: object, *arguments: object) -> None:
    try:
        function(*arguments)  # type: ignore[operator]
    except OSError as error:
        raise StageFailed(stage, error.errno or errno.EINVAL) from None


def join(folder: str) -> None:
    """Raises ``OSError``."""
    descriptor = os.open(f"{folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
    try:
        # "0" is the writing process.
        os.write(descriptor, b"0")
    finally:
        os.close(descriptor)


def _become_user(user: int | None, group: int | None, person: Person) -> None:
    if user in (None, os.geteuid()) and group in (None, os.getegid()):
        # Without privileges, even setting the current ids fails.
        return
    own = os.getegid() if person.group is None else person.group
    # Groups first: after setresuid the process may no longer change them.
    os.setgroups([own] if person.groups is None else person.groups)
    # All three ids, so that the program cannot switch back to the saved one.
    os.setresgid(own, own, own)
    if user is not None:
        os.setresuid(user, user, user)


def _set_open_files_limit(files: int) -> None:
    """Set the soft limit; the program can raise it again."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))


def _execute(argv: Sequence[str], env: dict[str, str]) -> NoReturn:
    """Try the search path as a shell does; report the most specific error."""
    name = argv[0]
    places = [name] if "/" in name else _places(name, env.get("PATH", DEFAULT_PATH))
    problem = errno.ENOENT
    for place in places:
        try:
            os.execve(place, list(argv), env)  # noqa: S606 - there is none on purpose
        except (OSError, ValueError) as error:
            number = getattr(error, "errno", None) or errno.EINVAL
            if number not in (errno.ENOENT, errno.ENOTDIR):
                # A file that exists but cannot be run explains more than "not found".
                problem = number
            if number not in (errno.ENOENT, errno.ENOTDIR, *_FORGIVING):
                break
    raise StageFailed(FailedStep.PROGRAM, problem)


def _places(name: str, path: str) -> list[str]:
    return [f"{folder or '.'}/{name}" for folder in path.split(":")]


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _syscall(numbers: Mapping[str, int], *arguments: object) -> None:
    # The C library has no wrappers for these calls.
    number = numbers.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) != 0:
        problem = ctypes.get_errno()
        raise OSError(problem, os.strerror(problem))
