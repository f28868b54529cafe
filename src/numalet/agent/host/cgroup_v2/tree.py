"""A tree of cgroups below a folder that only numalet writes to, and the lock on it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from numalet.core.enforcement import cgroup_paths
from numalet.core.model.findings import BadInput, Location
from numalet.shared.findings.runtime import CgroupHeld

PROCS: Final = "cgroup.procs"
_KILL: Final = "cgroup.kill"
_CONTROL: Final = "cgroup.subtree_control"
CONTROLLERS: Final = "cgroup.controllers"
_WANTED: Final = ("cpuset", "memory", "cpu", "hugetlb", "pids")
_MODE: Final = 0o755
_PASSES: Final = 10


class CgroupTree:
    """Cgroups by path below the root; "" is the root. All methods raise ``OSError``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, path: str) -> Path:
        """Raises ``ValueError`` for a path that leaves the tree."""
        if path and any(part in ("", ".", "..") for part in path.split("/")):
            raise ValueError(path)
        return self.root / path if path else self.root

    def exists(self, path: str) -> bool:
        return self.folder(path).is_dir()

    def make(self, path: str) -> None:
        """Make the cgroup and its parents, with all controllers on."""
        # From the top down: a controller can only be turned on for children if the parent has it.
        for above in cgroup_paths.parents(path):
            self.make_one(above)
            self._enable(above)
        self.make_one(path)

    def children(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(e.name for e in os.scandir(self.folder(path)) if e.is_dir()))
        except FileNotFoundError:
            return ()

    def read(self, path: str, file: str) -> str | None:
        try:
            return (self.folder(path) / file).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None

    def write(self, path: str, file: str, text: str) -> None:
        """Write a setting with one system call: the kernel parses each call separately."""
        descriptor = os.open(self.folder(path) / file, os.O_WRONLY | os.O_CLOEXEC)
        try:
            # A write of zero bytes never reaches the kernel's handler; a newline clears the
            # setting.
            os.write(descriptor, (text or "\n").encode("ascii"))
        finally:
            os.close(descriptor)

    def processes(self, path: str) -> tuple[int, ...]:
        """Ids of the processes in the cgroup and below."""
        ids: list[int] = []
        for each in self._below(path):
            text = self.read(each, PROCS)
            # The kernel shows processes of other pid namespaces as 0.
            ids += [int(word) for word in (text or "").split() if word != "0"]
        return tuple(sorted(ids))

    def kill(self, path: str) -> None:
        """Kill every process in the cgroup and below; a missing cgroup is fine."""
        try:
            self.write(path, _KILL, "1")
        except FileNotFoundError:
            # ``cgroup.kill`` needs Linux 5.14.
            self._kill_one_by_one(path)

    def _kill_one_by_one(self, path: str) -> None:
        # A process may fork between the read and the kill, so repeat.
        for _ in range(_PASSES):
            pids = self.processes(path)
            if not pids:
                return
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def remove(self, path: str) -> bool:
        """Remove the cgroup and all below; False if it is still in use."""
        # The kernel removes only leaves, so children go first.
        for each in reversed(list(self._below(path))):
            try:
                self._remove_one(each)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno in (errno.EBUSY, errno.ENOTEMPTY):
                    return False
                raise
        return True

    def _below(self, path: str) -> Iterator[str]:
        """Yield the cgroup and all below it, parents first."""
        yield path
        for name in self.children(path):
            yield from self._below(f"{path}/{name}" if path else name)

    def make_one(self, path: str) -> None:
        """Make the cgroup only: no parents, no controllers."""
        folder = self.folder(path)
        if folder.is_dir():
            return
        self._make_unless_there(folder)

    def _make_unless_there(self, folder: Path) -> None:
        with contextlib.suppress(FileExistsError):
            self._create(folder)

    def _create(self, folder: Path) -> None:
        folder.mkdir(mode=_MODE)

    def _remove_one(self, path: str) -> None:
        self.folder(path).rmdir()

    def _enable(self, path: str) -> None:
        there = (self.read(path, CONTROLLERS) or "").split()
        on = (self.read(path, _CONTROL) or "").split()
        for name in _WANTED:
            # One write per controller: a write with several names fails as a whole if the kernel
            # refuses one of them.
            if name not in there or name in on:
                continue
            try:
                self.write(path, _CONTROL, f"+{name}")
            except OSError:
                # The caller checks ``cgroup.controllers`` below and reports missing ones.
                continue


@contextlib.contextmanager
def locked_alone(folder: Path | None) -> Iterator[None]:
    """Lock the tree exclusively, for one agent.

    Two agents would each take the other's cgroups for leftovers and kill their programs.

    Raises ``BadInput`` if it is locked; without a folder, do nothing.
    """
    with _held(folder, fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def locked_with_others(folder: Path | None) -> Iterator[None]:
    """Share the tree with other commands. Raises ``BadInput`` if an agent has locked it."""
    with _held(folder, fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def _held(folder: Path | None, how: int) -> Iterator[None]:
    if folder is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            # The kernel releases a flock when the process ends, so a crash leaves no stale lock.
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput([CgroupHeld(path=str(folder), where=Location(str(folder)))]) from None
        yield
    finally:
        os.close(descriptor)
