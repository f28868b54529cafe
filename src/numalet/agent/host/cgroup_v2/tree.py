"""A tree of cgroups below a folder of the cgroup file system to which no other process writes."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from numalet.core.enforcement import paths

PROCS: Final = "cgroup.procs"
_KILL: Final = "cgroup.kill"
_CONTROL: Final = "cgroup.subtree_control"
CONTROLLERS: Final = "cgroup.controllers"
_WANTED: Final = ("cpuset", "memory", "cpu", "hugetlb", "pids")
_MODE: Final = 0o755
_PASSES: Final = 10


class CgroupTree:
    """Cgroups by their path below the root; "" is the root. All methods raise ``OSError``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, path: str) -> Path:
        """Where a cgroup is. Raises ``ValueError`` for a path that leads elsewhere."""
        if path and any(part in ("", ".", "..") for part in path.split("/")):
            raise ValueError(path)
        return self.root / path if path else self.root

    def exists(self, path: str) -> bool:
        return self.folder(path).is_dir()

    def make(self, path: str) -> None:
        """Make the cgroup and those above it, with all controllers turned on for it."""
        for above in paths.parents(path):
            self.make_one(above)
            self._enable(above)
        self.make_one(path)

    def children(self, path: str) -> tuple[str, ...]:
        """Names of the cgroups directly below, sorted; empty for an absent cgroup."""
        try:
            return tuple(sorted(e.name for e in os.scandir(self.folder(path)) if e.is_dir()))
        except FileNotFoundError:
            return ()

    def read(self, path: str, file: str) -> str | None:
        """The stripped text of a file; None if it is absent."""
        try:
            return (self.folder(path) / file).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None

    def write(self, path: str, file: str, text: str) -> None:
        """Write a setting with one call; to the kernel each call is a setting of its own."""
        descriptor = os.open(self.folder(path) / file, os.O_WRONLY | os.O_CLOEXEC)
        try:
            # Writing nothing would be no setting; an empty line clears one.
            os.write(descriptor, (text or "\n").encode("ascii"))
        finally:
            os.close(descriptor)

    def processes(self, path: str) -> tuple[int, ...]:
        """Ids of the processes in the cgroup and below; those of other pid namespaces left out."""
        ids: list[int] = []
        for each in self._below(path):
            text = self.read(each, PROCS)
            ids += [int(word) for word in (text or "").split() if word != "0"]
        return tuple(sorted(ids))

    def kill(self, path: str) -> None:
        """Kill everything in the cgroup and below. Nothing happens if it is not there."""
        try:
            self.write(path, _KILL, "1")
        except FileNotFoundError:
            self._kill_one_by_one(path)

    def _kill_one_by_one(self, path: str) -> None:
        """The same before Linux 5.14; again, because a process may have forked meanwhile."""
        for _ in range(_PASSES):
            pids = self.processes(path)
            if not pids:
                return
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def remove(self, path: str) -> bool:
        """Remove the cgroup and all below; False if a process or another file keeps one."""
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
        """The cgroup and all below it, each after those above it."""
        yield path
        for name in self.children(path):
            yield from self._below(f"{path}/{name}" if path else name)

    def make_one(self, path: str) -> None:
        """Make the cgroup; those above it are there, and nothing is turned on in them."""
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
        """Turn on the available controllers for the cgroups below this one."""
        there = (self.read(path, CONTROLLERS) or "").split()
        on = (self.read(path, _CONTROL) or "").split()
        for name in _WANTED:
            if name not in there or name in on:
                continue
            try:
                self.write(path, _CONTROL, f"+{name}")
            except OSError:
                # One that can not be had is missing below, where that is noticed.
                continue
