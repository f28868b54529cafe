"""Reads a tarball of one or several machines into trees, in one pass and in memory.

Nothing is extracted and no link is followed, so hostile names are harmless; they are refused all
the same. Only files that the machine reader uses are kept. A *root* is the directory in the tarball
that contains ``sys``.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.value import Mutable, field
from numalet.io import packed
from numalet.io.sysfs.trees import LARGEST_FILE_BYTES, Tree, memory_tree

MOST_MEMBERS: Final = 500_000
MOST_UNPACKED_BYTES: Final = 256 << 20
MOST_KEPT_BYTES: Final = 64 << 20
_LONGEST_NAME: Final = 4096

_WANTED = re.compile(
    r"(?:(?P<root>.*?)/)??"
    r"(?P<path>(?P<sys>sys/)?(?:devices/system/(?:cpu|node)|kernel/mm/hugepages)(?:/.*)?"
    r"|proc/(?:cpuinfo|meminfo))"
)
_DEPTH: Final = 7
"""The deepest level of interest below ``devices/system/cpu``: cpu0/cache/index0/id."""


class _Root(Mutable):
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    has_system: bool = False


class Archive(Mutable):
    """The machines of a tarball by root ("." for the top)."""

    trees: dict[str, Tree]


def read_archive(path: Path, document: str) -> Archive:
    """The machines in a tarball; raises ``BadInput`` if it is unreadable."""
    reader, where = _Reader(document), Location(document)
    try:
        with path.open("rb") as raw:
            stream = packed.unpacked(raw, MOST_UNPACKED_BYTES)
            members = packed.members(stream, MOST_UNPACKED_BYTES, MOST_MEMBERS, _is_wanted)
            for member, file in members:
                reader.add(member, None if file is None else file.read())
    except packed.LimitPassedError as passed:
        too_large = input_error.TooLarge(
            f"it unpacks to more than {passed.limit} {passed.what}", where=where
        )
        raise BadInput([too_large]) from None
    except (tarfile.TarError, OSError, ValueError) as error:
        damaged = input_error.Unreadable(
            f"the tarball is damaged or truncated: {packed.first_line(error)}", where=where
        )
        raise BadInput([damaged]) from None
    return reader.finish()


def _is_wanted(member: tarfile.TarInfo) -> bool:
    if not member.isreg() or _wanted(_plain(member.name)) is None:
        return False
    if member.size > LARGEST_FILE_BYTES:
        raise packed.LimitPassedError(f"bytes in {member.name[:100]}", LARGEST_FILE_BYTES)
    return True


def _plain(name: str) -> str:
    """The name without a leading ``./`` and trailing slashes."""
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return name.rstrip("/")


def _wanted(name: str) -> re.Match[str] | None:
    return None if len(name) > _LONGEST_NAME else _WANTED.fullmatch(name)


class _Reader:
    def __init__(self, document: str) -> None:
        self._document = document
        self._roots: dict[str, _Root] = {}
        self._findings = Findings()
        self._stored: set[str] = set()
        self._kept = 0

    def add(self, member: tarfile.TarInfo, content: bytes | None) -> None:
        name = _plain(member.name)
        if name.startswith("/") or ".." in name.split("/"):
            self._refuse(member.name, "a relative name without '..'")
            return
        match = _wanted(name)
        if match is None:
            return
        path = match["path"]
        if path.count("/") > _DEPTH:
            return
        outside = match["root"] or "."
        # Some tarballs are packed from within /sys.
        if not path.startswith(("sys/", "proc/")):
            path = f"sys/{path}"
        root = self._roots.setdefault(outside, _Root())
        root.has_system = root.has_system or path.startswith("sys/devices/")
        self._keep(root, path, member, content)

    def _keep(self, root: _Root, path: str, member: tarfile.TarInfo, content: bytes | None) -> None:
        if content is not None:
            self._kept += len(content)
            if self._kept > MOST_KEPT_BYTES:
                raise packed.LimitPassedError("bytes of interest", MOST_KEPT_BYTES)
            root.files[path] = content
        elif member.isdir():
            root.folders.add(path)
        elif member.issym():
            root.links[path] = member.linkname
        else:
            self._refuse(member.name, "a file, a directory or a symbolic link")

    def _refuse(self, name: str, expected: str) -> None:
        # One finding per kind; a hostile archive could produce millions.
        if expected not in self._stored:
            self._stored.add(expected)
            self._findings.add(
                input_error.Invalid(
                    f"invalid member {name[:200]!r} of the tarball",
                    expected=expected,
                    where=Location(self._document),
                )
            )

    def finish(self) -> Archive:
        """The trees of all roots with a machine; raises ``BadInput`` for refused members."""
        self._findings.raise_errors()
        trees = {
            name: memory_tree(root.files, root.links, root.folders)
            for name, root in sorted(self._roots.items())
            if root.has_system
        }
        return Archive(trees)
