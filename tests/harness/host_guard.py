"""Guards the host: a run of the tests leaves it as it was, or fails.

Tests run as root, start programs, mount, limit and link; one that touches what it did not make may
lock everybody out of ``/tmp`` and still pass. So what they could change is looked at before the
first test and after the last one: modes and owners of folders that all share, mounts, settings of
the kernel, and what is left of processes and cgroups. Of the processes that run tests, limits and
the like are compared too, because the next test in the same process inherits them.

With tests side by side every worker looks at itself, and the controller at itself and the host.
What others do on the machine meanwhile is none of ours, so nothing is compared that they change.
"""

from __future__ import annotations

import os
import resource
import signal
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

Facts: TypeAlias = Mapping[str, str]

VARIABLE: Final = "NUMALET_TEST_SESSION"
"""Is in the environment of all that a run starts; its value is the run's own."""
_MARK: Final = "NUMALET_CONTAINER"
_SHIM: Final = "numalet.agent.host.runtime.shim.watch"
_OUTPUT: Final = "numalet_host_guard"
_PATIENCE_SECONDS: Final = 60.0
"""So long something that was told to end may take; only a run that would fail waits."""
_SHARED: Final = (
    "/", "/dev", "/dev/shm", "/etc", "/home", "/opt", "/proc", "/root", "/run", "/srv", "/sys",
    "/sys/fs/cgroup", "/tmp", "/usr", "/usr/local", "/var", "/var/lib", "/var/run", "/var/tmp",
)  # fmt: skip
_SETTINGS: Final = (
    "/proc/swaps",
    "/proc/sys/fs/file-max", "/proc/sys/fs/nr_open", "/proc/sys/fs/protected_hardlinks",
    "/proc/sys/fs/inotify/max_user_instances", "/proc/sys/fs/inotify/max_user_watches",
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/pid_max", "/proc/sys/kernel/sysrq", "/proc/sys/kernel/threads-max",
    "/proc/sys/net/core/somaxconn", "/proc/sys/net/ipv4/ip_local_port_range",
    "/proc/sys/vm/nr_overcommit_hugepages", "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/swappiness", "/proc/sys/vm/zone_reclaim_mode",
    "/sys/devices/system/cpu/online", "/sys/devices/system/node/online",
    "/sys/kernel/mm/transparent_hugepage/enabled",
)  # fmt: skip
_PAGES: Final = (
    "kernel/mm/hugepages/*/nr_*hugepages",
    "devices/system/node/node*/hugepages/*/nr_hugepages",
)
_OURS_TO_MOUNT: Final = ("/dev/hugepages", "/dev/shm", "/proc", "/sys")
_POD_PREFIX: Final = "pod"


def of_host(root: Path) -> Facts:
    """What tests could change for everybody; ``root`` is the folder of the project."""
    facts = {f"mode and owner of {path}": _mode(path) for path in sorted(_folders(root))}
    facts |= {f"mounts at {path}": text for path, text in _mounts(root).items()}
    settings = [
        *map(Path, _SETTINGS),
        *(each for name in _PAGES for each in Path("/sys").glob(name)),
    ]
    return facts | {str(path): _content(path) for path in settings}


def of_process() -> Facts:
    """What tests could change for the next ones in this process."""
    mask = os.umask(0o077)
    os.umask(mask)
    facts = {
        "umask": f"{mask:04o}",
        "user and groups": f"{os.getresuid()} {os.getresgid()} {sorted(os.getgroups())}",
        "allowed CPUs": str(sorted(os.sched_getaffinity(0))),
        "niceness": str(os.getpriority(os.PRIO_PROCESS, 0)),
        "score for the killer": _content(Path("/proc/self/oom_score_adj")),
        "blocked signals": str(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))),
        "folder of temporary files": tempfile.gettempdir(),
    }
    limits = (name for name in dir(resource) if name.startswith("RLIMIT_"))
    facts |= {name: str(resource.getrlimit(getattr(resource, name))) for name in limits}
    variables = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    return facts | {f"variable {name}": text for name, text in variables.items()}


def differences(before: Facts, after: Facts) -> list[str]:
    """A sentence for every fact that became another one."""
    return [
        f"{name} was {before.get(name, 'not there')!r} and is {after.get(name, 'not there')!r}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def left_over(session: str, since_ticks: int) -> list[str]:
    """Processes and cgroups that a run left, after they had time to go."""
    last = time.monotonic() + _PATIENCE_SECONDS
    while (found := [*_processes(session, since_ticks), *_cgroups()]) and time.monotonic() < last:
        time.sleep(0.05)
    return found


def _folders(root: Path) -> set[Path]:
    named = {Path(tempfile.gettempdir()), Path.home(), Path.cwd(), root, *map(Path, _SHARED)}
    if "XDG_RUNTIME_DIR" in os.environ:
        named.add(Path(os.environ["XDG_RUNTIME_DIR"]))
    return {*named, *Path.cwd().parents, *root.parents}


def _mode(path: Path) -> str:
    try:
        found = path.stat()
    except OSError as error:
        return error.strerror or str(error)
    return f"{found.st_mode & 0o7777:04o} {found.st_uid}:{found.st_gid}"


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        return error.strerror or str(error)


def _mounts(root: Path) -> dict[str, str]:
    """What is mounted where tests work, and how; what others mount elsewhere is theirs."""
    places = (*_OURS_TO_MOUNT, tempfile.gettempdir(), str(Path.home()), str(root))
    found: dict[str, str] = {}
    for line in _content(Path("/proc/self/mountinfo")).splitlines():
        words = line.split()
        place, options = words[4], words[5]
        if place == "/" or any(place == each or place.startswith(f"{each}/") for each in places):
            kind = words[words.index("-") + 1]
            found[place] = f"{found.get(place, '')} {kind} ({options})".strip()
    return found


def _processes(session: str, since_ticks: int) -> Iterator[str]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with suppress(OSError, ValueError, IndexError):
            words = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if words[0] in "ZX" or int(words[19]) < since_ticks:
                continue
            variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
            command = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if f"{VARIABLE}={session}" in variables or _is_orphan(variables, command):
                yield f"process {folder.name} goes on: {' '.join(command)[:200]}"


def _is_orphan(variables: list[str], command: list[str]) -> bool:
    """Whether it belongs to an agent whose folder is gone: programs do not have our variable."""
    marks = [each.partition("=")[2] for each in variables if each.startswith(f"{_MARK}=/")]
    if any(_SHIM in word for word in command):
        marks += [word for word in command[-2:] if word.startswith("/")]
    return any(not Path(mark).exists() for mark in marks)


def _cgroups() -> Iterator[str]:
    """Cgroups of pods in which nothing runs; those of others who test meanwhile are in use."""
    for place in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        yield from (f"cgroup {each} is left" for each in empty_pods(Path(place)))


def empty_pods(place: Path) -> list[Path]:
    """Cgroups of pods in which nothing runs; any cgroup may vanish meanwhile."""
    # A walk goes on where a folder has vanished, and Path.glob raises.
    folders = [Path(each) for root in place.glob("numalet*") for each, _, _ in os.walk(root)]
    found = []
    for path in sorted(folders):
        if path.name.startswith(_POD_PREFIX):
            with suppress(OSError):
                if "populated 0" in (path / "cgroup.events").read_text():
                    found.append(path)
    return found


class HostGuard:
    """The guard as a plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._is_worker = hasattr(config, "workerinput")
        self._root = config.rootpath
        self._session = str(uuid.uuid4())
        self._since_ticks = int(_content(Path("/proc/self/stat")).rpartition(")")[2].split()[19])
        self._problems: list[str] = []
        self._host: Facts = {}
        if not self._is_worker:
            os.environ[VARIABLE] = self._session
            self._host = of_host(self._root)
        self._process = of_process()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker saw in itself; one that crashed said nothing."""
        name = node.gateway.id
        told = getattr(node, "workeroutput", {}).get(_OUTPUT, [])
        self._problems += [f"in worker {name}: {each}" for each in told]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Compare; the run fails if something is not as it was."""
        own = differences(self._process, of_process())
        if self._is_worker:
            session.config.workeroutput[_OUTPUT] = own  # type: ignore[attr-defined]
            yield
            return
        yield
        self._problems += own
        self._problems += differences(self._host, of_host(self._root))
        self._problems += left_over(self._session, self._since_ticks)
        if self._problems:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            self._tell(session.config)

    def _tell(self, config: pytest.Config) -> None:
        lines = ["", "THE HOST IS NOT AS THE TESTS FOUND IT, so this run fails:"]
        lines += [f"  {each}" for each in self._problems]
        lines += ["A test touches only what it made. Fix the test, and then the host.", ""]
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        for line in lines:
            if reporter is not None:
                reporter.write_line(line, red=True)
