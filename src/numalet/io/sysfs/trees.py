"""File trees with the layout of a machine's ``/``: a folder, the live root, or a tarball.

Paths are relative (``sys/devices/system/node``, ``proc/meminfo``). Links are listed but never
followed, because ``/sys`` has links that lead back up.
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
"""The limit for one file; cpuinfo of 4,096 CPUs has about 6 MB."""


class Tree(Protocol):
    """A file tree; missing and unreadable entries give empty results."""

    def text(self, path: str) -> str | None:
        """The content of a regular file, with undecodable bytes replaced."""
        ...

    def link(self, path: str) -> str | None:
        """The target of a symbolic link."""
        ...

    def names(self, path: str, wanted: re.Pattern[str]) -> tuple[str, ...]:
        """The entries of a directory whose whole name matches, sorted."""
        ...

    def is_directory(self, path: str) -> bool:
        """Whether this is a directory (not a link to one)."""
        ...


class FolderTree(Value):
    """Files below a folder; ``sys`` and ``proc`` are their paths; ``proc`` may be missing."""

    sys: Path
    proc: Path | None
    unreadable: list[str] = field(default_factory=list)
    """Paths that exist but are unreadable, filled in while reading."""

    def _place(self, path: str) -> Path | None:
        room, _, rest = path.partition("/")
        base = self.sys if room == "sys" else self.proc
        return None if base is None else base / rest

    def text(self, path: str) -> str | None:
        place = self._place(path)
        if place is None:
            return None
        try:
            # O_NOFOLLOW: no links. O_NONBLOCK: a pipe must not block the open.
            descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            self.unreadable.append(path)
            return None
        try:
            return self._content(path, descriptor)
        except OSError:
            # The kernel refuses to read some files by state, such as those of an offline CPU.
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
        place = self._place(path)
        try:
            return None if place is None else str(place.readlink())
        except OSError:
            return None

    def names(self, path: str, wanted: re.Pattern[str]) -> tuple[str, ...]:
        place = self._place(path)
        try:
            entries = [] if place is None else [entry.name for entry in place.iterdir()]
        except OSError:
            return ()
        return tuple(sorted(name for name in entries if wanted.fullmatch(name)))

    def is_directory(self, path: str) -> bool:
        place = self._place(path)
        try:
            return place is not None and stat.S_ISDIR(place.lstat().st_mode)
        except OSError:
            return False


class MemoryTree(Value):
    """One machine of a tarball: files, links and directories in memory."""

    files: Mapping[str, bytes]
    links: Mapping[str, str]
    entries: Mapping[str, Set[str]]
    """The names of each directory's entries."""

    def text(self, path: str) -> str | None:
        content = self.files.get(path)
        return None if content is None else content.decode("utf-8", "replace")

    def link(self, path: str) -> str | None:
        return self.links.get(path)

    def names(self, path: str, wanted: re.Pattern[str]) -> tuple[str, ...]:
        return tuple(sorted(name for name in self.entries.get(path, ()) if wanted.fullmatch(name)))

    def is_directory(self, path: str) -> bool:
        return path in self.entries


def memory_tree(files: Mapping[str, bytes], links: Mapping[str, str], folders: Set[str]) -> Tree:
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
