"""Finds the tree of one machine in a folder.

The folder may contain ``sys`` (and ``proc``), may itself be a ``/sys``, or may have one machine
somewhere below, like an unpacked tarball.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.io import os_problem
from numalet.io.sysfs.trees import FolderTree

_DEEPEST: Final = 4
_MOST_FOLDERS: Final = 5_000


def tree_of_folder(folder: Path, document: str) -> FolderTree:
    """The tree of the one machine in a folder; raises ``BadInput``."""
    here = _tree_at(folder)
    if here is not None:
        return here
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise input_error.Unreadable(
            f"cannot read {document!r}: {os_problem.text(error)}", where=Location(document)
        ).bad_input() from None
    trees = list(_below(folder))
    if len(trees) == 1:
        return trees[0][1]
    if not trees:
        raise BadInput([no_machine(document)])
    roots = [str(path.relative_to(folder)) for path, _ in trees]
    raise BadInput([several(document, roots, separator="/")])


def no_machine(document: str) -> Finding:
    return input_error.NotFound(
        f"no machine in {document!r}",
        expected=(
            "devices/system/cpu and devices/system/node in it, in its sys folder, or up to four "
            "folders below"
        ),
        where=Location(document),
    )


def several(document: str, roots: list[str], separator: str) -> Finding:
    choices = ", ".join(f"{document.rstrip('/')}{separator}{root}" for root in roots[:20])
    return input_error.Invalid(
        f"{document!r} contains {len(roots)} machines",
        expected=f"one of: {choices}",
        where=Location(document),
    )


def _tree_at(folder: Path) -> FolderTree | None:
    """The tree whose root, or whose ``/sys``, is this folder."""
    if _is_sys(folder / "sys"):
        return FolderTree(folder / "sys", folder / "proc")
    if not _is_sys(folder):
        return None
    # Only a folder named sys can have proc next to it.
    proc = folder.absolute().parent / "proc" if folder.absolute().name == "sys" else None
    return FolderTree(folder, proc)


def _is_sys(folder: Path) -> bool:
    system = folder / "devices" / "system"
    return _is_folder(system / "cpu") or _is_folder(system / "node")


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False


def _below(folder: Path) -> Iterator[tuple[Path, FolderTree]]:
    """Machines below a folder in the order of names; links are not followed."""
    visited = 0
    waiting = [folder]
    for _ in range(_DEEPEST):
        inner: list[Path] = []
        for outer in waiting:
            for path in _folders(outer):
                visited += 1
                if visited > _MOST_FOLDERS:
                    return
                tree = _tree_at(path)
                if tree is None:
                    inner.append(path)
                else:
                    yield path, tree
        waiting = inner


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def is_tarball(path: Path) -> bool:
    """Whether the file is a tarball, by its first bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError:
        return False
    if head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")):
        return True
    return head[257:262] == b"ustar"
