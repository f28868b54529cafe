"""The commands that have a place, and the file locks that show whether they still run.

A run holds a lock on one file. The kernel releases it with the process and shows it across PID
namespaces, where a pid would be meaningless. Pids serve messages, affinity and pidfds. A holder
without a file is of the older format, identified by pid, start time and boot.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from numalet.agent.host.runtime.shim import process_tree
from numalet.agent.host.runtime.shim.attempt_files import CONTAINER as CONTAINER
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.core.workload.run import Cause

_FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_MODE: Final = 0o600

FOLDER: Final = "holders"
_FOLDER_MODE: Final = 0o700


def open_lock(path: Path, more_flags: int = 0) -> int:
    """Open or create the file. Raises ``OSError``."""
    return os.open(path, _FLAGS | os.O_CREAT | more_flags, _MODE)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock during the block; waits for it. Raises ``OSError``."""
    descriptor = open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool | None:
    """Whether a process holds the lock (True if unreadable), if the file exists."""
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError:
        return True
    try:
        # Shared: two processes that test at the same time must not see each other's test.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


class RunHolder(Value, kw_only=True):
    """One run: its pod and process.

    ``pid`` in its own namespace; ``ticks`` and ``boot`` exclude a reused pid. ``is_shared``: it
    uses the shared pool. ``path``: its cgroup below the root, or empty. ``causes``: lost
    allocations; ``unpromised`` is the older format of that. ``manifest``: a Pod object for an agent
    that adopts it. ``process_mark``: in the environment of its processes. The older format lacks
    the last two.
    """

    uid: str
    pid: int
    ticks: int
    boot: str
    command: str
    is_shared: bool
    path: str = ""
    unpromised: str = ""
    causes: tuple[Cause, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)
    process_mark: str = ""

    @property
    def key(self) -> ContainerKey:
        return ContainerKey(self.uid, CONTAINER)

    @property
    def mark(self) -> str:
        """The mark in either format."""
        return self.process_mark or self.uid


class Holders:
    """Locks of the runs of one folder. Use only under the lock of the shared state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        """One file per run, named by uid and locked by its process."""

    def lock(self, uid: str) -> int:
        """Lock a new run; the process keeps the descriptor. Raises ``OSError``."""
        self._folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
        # O_EXCL: a stale file of another run must never be reused.
        descriptor = open_lock(self._path(uid), os.O_EXCL)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.pwrite(
            descriptor, json.dumps({"pid_namespace": process_tree.pid_namespace()}).encode(), 0
        )
        return descriptor

    def unlock(self, uid: str, descriptor: int) -> None:
        """Release the lock and remove its file."""
        # Remove first: an unlocked file would be a dead run.
        self._path(uid).unlink(missing_ok=True)
        os.close(descriptor)

    def is_alive(self, holder: RunHolder) -> bool:
        held = is_locked(self._path(holder.uid))
        return _is_this_process(holder) if held is None else held

    def pid_here(self, holder: RunHolder) -> int | None:
        """The pid in this namespace, if it is visible here."""
        try:
            namespace = json.loads(self._path(holder.uid).read_bytes())["pid_namespace"]
        except FileNotFoundError:
            namespace = process_tree.pid_namespace()
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        here = namespace == process_tree.pid_namespace() and _is_this_process(holder)
        return holder.pid if here else None

    def since(self, holder: RunHolder) -> datetime | None:
        """When the run got its place; unknown in the older format."""
        try:
            return datetime.fromtimestamp(self._path(holder.uid).stat().st_mtime, UTC)
        except OSError:
            return None

    def sweep(self, uids: Iterable[str]) -> None:
        """Remove files of all other runs."""
        known = frozenset(uids)
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path.name not in known and not is_locked(path):
                    path.unlink(missing_ok=True)

    def _path(self, uid: str) -> Path:
        return self._folder / uid


def _is_this_process(holder: RunHolder) -> bool:
    return process_tree.is_this(holder.pid, holder.ticks, holder.boot)
