"""Checks that other users cannot change files that root reads, executes or writes.

A user who can write to a folder can replace its content, and its owner can grant that; the same
holds for all parent folders and for those behind links. A sticky folder such as ``/tmp`` is allowed
as a parent, but not as the last folder. A path that does not exist yet is fine.

Only root needs this: programs of other users have no rights beyond the user's.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Location

_MOST_LINKS: Final = 40
_ACL: Final = "system.posix_acl_access"


def doubt(path: Path) -> Finding | None:
    """Why root should not trust an existing path, if there is a reason."""
    if os.geteuid() != 0:
        return None
    here, links = Path("/"), 0
    parts = deque(path.absolute().parts[1:])
    finding = _of_one(here, here.lstat(), is_last=not parts)
    while parts and finding is None:
        name = parts.popleft()
        # Resolve the path by hand, because each link on the way needs a check, too.
        if name == "..":
            here = here.parent
            continue
        try:
            status = (here / name).lstat()
        except OSError:
            return None
        if stat.S_ISLNK(status.st_mode):
            links += 1
            finding = _of_owner(here / name, status)
            # Like the kernel, which gives up after 40 links (ELOOP).
            target = (here / name).readlink() if links <= _MOST_LINKS else Path()
            parts.extendleft(reversed(target.parts))
            if target.is_absolute():
                parts.popleft()
                here = Path("/")
            continue
        here = here / name
        finding = _of_one(here, status, is_last=not parts)
    return finding


def doubt_of_entry(path: Path) -> Finding | None:
    """``doubt`` for an entry of a folder that has been checked."""
    if os.geteuid() != 0:
        return None
    try:
        status = path.lstat()
    except OSError:
        return None
    return doubt(path) if stat.S_ISLNK(status.st_mode) else _of_one(path, status, is_last=True)


def of_others(folder: Path) -> list[str]:
    """Names of entries in a folder that belong neither to this user nor to root."""
    try:
        entries = sorted(folder.iterdir())
        return [each.name for each in entries if each.lstat().st_uid not in (0, os.geteuid())]
    except OSError:
        return []


def _of_one(path: Path, status: os.stat_result, *, is_last: bool) -> Finding | None:
    finding = _of_owner(path, status)
    if finding is not None or not _others_may_write(path, status):
        return finding
    is_like_tmp = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    if is_like_tmp and not is_last:
        return None
    return input_error.Forbidden(
        f"{str(path)!r} has mode {stat.S_IMODE(status.st_mode):04o}, so other users could change "
        "the programs and files of root there; run chmod go-w, or use a path on which root owns "
        "every folder",
        where=Location(str(path)),
    )


def _of_owner(path: Path, status: os.stat_result) -> Finding | None:
    if status.st_uid == 0:
        return None
    return input_error.Forbidden(
        f"{str(path)!r} belongs to user {status.st_uid}, who could change the programs and files "
        "of root there; run chown root, or use a path on which root owns every folder",
        where=Location(str(path)),
    )


def _others_may_write(path: Path, status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    if not status.st_mode & stat.S_IWGRP:
        return False
    # With an ACL the group bits are its mask: the most that any entry grants.
    # The group root is trusted like the user root. With an ACL the bits may stand for other users.
    return status.st_gid != 0 or _has_list(path)


def _has_list(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, _ACL, follow_symlinks=False))
    except OSError:
        return False
