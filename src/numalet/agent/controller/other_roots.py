"""Finds other root folders in use; their allocations are unknown to this one.

Checks the usual places: the system's folder, this user's and the sudo caller's. Locks are read from
``/proc/locks``, which disturbs no process.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from numalet.agent.controller.root_folder import LOCK
from numalet.core.model.findings import Finding, Location
from numalet.io.agent_client.places import SYSTEM_ROOT
from numalet.shared.findings.agent import AgentOtherRoot

LOCKS: Final = Path("/proc/locks")
_KEY: Final = 5
"""The column with device and inode."""


def remarks(root: Path) -> tuple[Finding, ...]:
    held = _held()
    here = _inode(root)
    return tuple(
        AgentOtherRoot(root=str(root), where=Location(str(other)))
        for other in dict.fromkeys(_usual())
        if _inode(other) not in (None, here) and _inode(other / LOCK) in held
    )


def _usual() -> Iterator[Path]:
    yield SYSTEM_ROOT
    state = os.environ.get("XDG_STATE_HOME")
    if state:
        yield Path(state) / "numalet"
    with suppress(RuntimeError):
        yield _of_home(Path.home())
    with suppress(KeyError, ValueError):
        yield _of_home(Path(pwd.getpwuid(int(os.environ["SUDO_UID"])).pw_dir))


def _of_home(home: Path) -> Path:
    return home / ".local" / "state" / "numalet"


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _held() -> frozenset[tuple[int, int] | None]:
    """Device and inode of every locked file."""
    held = set()
    with suppress(OSError):
        for line in LOCKS.read_text(encoding="ascii", errors="replace").splitlines():
            words = line.split()
            with suppress(ValueError, IndexError):
                # A line of a waiting process has an extra "->"; another line names the holder.
                major, minor, inode = words[_KEY].split(":")
                held.add((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
    return frozenset(held)
