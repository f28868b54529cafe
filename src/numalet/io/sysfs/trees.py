"""A tree of files laid out like ``/`` of a machine: a folder, a live root, or a tarball.

Paths are relative (``sys/devices/system/node``, ``proc/meminfo``). Links are links: they are
listed and never followed, because directories of ``/sys`` contain links to themselves.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Final, Protocol

from numalet.core.model.value import Value, field

LARGEST_FILE_BYTES: Final = 16 << 20
"""The most that is read of one file; cpuinfo of 4,096 CPUs is about 6 MB."""


class Tree(Protocol):
    """What the reader asks. A thing that is not there, or can not be read, is None or ()."""

    def text(self, path: str) -> str | None:
        """Content of a regular file, undecodable bytes replaced."""
        ...

    def link(self, path: str) -> str | None:
        """Where a symbolic link points to; None for everything else."""
        ...

    def names(self, path: str, wanted: re.Pattern[str]) -> tuple[str, ...]:
        """Entries of a directory whose whole name matches, sorted."""
        ...

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory (not a link to one)."""
        ...


class FolderTree(Value):
    """Files below a folder of the file system.

    ``sys`` and ``proc`` are where those two lie; ``proc`` may be nowhere.
    """

    sys: Path
    proc: Path | None
    unreadable: list[str] = field(default_factory=list)
    """Paths that are there and could not be read, filled in while reading."""

    def _place(self, path: str) -> Path | None:
        room, _, rest = path.partition("/")
        base = self.sys if room == "sys" else self.proc
        return None if base is None else base / rest

    def text(self, path: str) -> str | None:
        """Content of a regular file; a link is not followed, a pipe is not waited for."""
        place = self._place(path)
        if place is None:
            return None
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            self.unreadable.append(path)
            return None
        try:
            return self._content(path, descriptor)
        except OSError:
            # The kernel refuses some files by their content: an offline CPU's, for example.
            self.unreadable.append(path)
            return None
        finally:
            os.close(descriptor)

    def _content(self, path: str, descriptor: int) -> str | None:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
        if len(content) > LARGEST_FILE_BYTES:
            self.unreadable.append(path)
            return None
        return content.decode("utf-8", "replace")

    def link(self, path: str) -> str | None:
        """Where a symbolic link points to."""
        place = self._place(path)
        try:
            return None if place is None else str(place.readlink())
        except OSError:
            return None

    def names(self, path: str, wanted: re.Pattern[str]) -> tuple[str, ...]:
        """Entries of a directory whose whole name matches, sorted."""
        place = self._place(path)
        try:
            entries = [] if place is None else [entry.name for entry in place.iterdir()]
        except OSError:
            return ()
        return tuple(sorted(name for name in entries if wanted.fullmatch(name)))

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory (not a link to one)."""
        place = self._place(path)
        try:
            return place is not None and stat.S_ISDIR(place.lstat().st_mode)
        except OSError:
            return False


class MemoryTree(Value):
    """Files, links and directories held in memory: one machine of a tarball."""

    files: Mapping[str, bytes]
    links: Mapping[str, str]
    entries: Mapping[str, Set[str]]
    """Names of the entries of each directory."""

    def text(self, path: str) -> str | None:
        """Content of a regular file."""
        content = self.files.get(path)
        return None if content is None else content.decode("utf-8", "replace")

    def link(self, path: str) -> str | None:
        """Where a symbolic link points to."""
        return self.links.get(path)

    def names(self, path: str, wanted: re.Pattern[str]) -> tuple[str, ...]:
        """Entries of a directory whose whole name matches, sorted."""
        return tuple(sorted(name for name in self.entries.get(path, ()) if wanted.fullmatch(name)))

    def is_directory(self, path: str) -> bool:
        return path in self.entries


def memory_tree(files: Mapping[str, bytes], links: Mapping[str, str], folders: Set[str]) -> Tree:
    """A tree of these, with every directory on the way to them."""
    entries: dict[str, set[str]] = {folder: set() for folder in folders}
    for path in (*files, *links, *folders):
        inner = path
        while "/" in inner:
            outer, _, name = inner.rpartition("/")
            known = entries.setdefault(outer, set())
            if name in known:
                break
            known.add(name)
            inner = outer
    return MemoryTree(files, links, entries)
