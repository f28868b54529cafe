"""Who holds a place: a run is there as long as it holds the lock of a file of its own.

The kernel releases the lock when the process goes, however it goes, and shows it to everybody
who sees the file: also to those in other PID namespaces, such as containers that share the root
folder, to whom the process's id says nothing or names another one. Ids are for people, and for
what can only be done to a process: asking the kernel to move it, or waiting for its end.

A holder without such a file is one of the former format, known by id, start time and boot.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from numalet.agent.controller import lock_file
from numalet.agent.host.runtime.shim import process_tree
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.core.workload.run import Cause

FOLDER: Final = "holders"
CONTAINER: Final = "main"
"""The only container of the pod that a command is."""
_FOLDER_MODE: Final = 0o700


class RunHolder(Value, kw_only=True):
    """One run: its pod, and the process that stays with its command.

    ``pid`` is its id in its own PID namespace; ``ticks`` and ``boot`` distinguish it from a later
    process with the same id. ``is_shared`` says that it runs in the shared pool; ``path`` is its
    cgroup below the root, empty without one. ``causes`` say why the state does not hold all that it
    runs with, since the machine changed; ``unpromised`` is that as the release before wrote it.
    ``manifest`` is the command as a Pod object, for an agent that takes it over; ``process_mark``
    is what its processes have in their environment. One of the former format has neither, and its
    uid as its mark.
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
        """Its container."""
        return ContainerKey(self.uid, CONTAINER)

    @property
    def mark(self) -> str:
        """What its processes have in their environment, in either format."""
        return self.process_mark or self.uid


class Holders:
    """The locks of the runs of one folder. Only used under the lock of the shared state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        """One file per run, named by its uid and locked by its process."""

    def lock(self, uid: str) -> int:
        """Take the lock of a new run, as a descriptor that its process keeps.

        Raises ``OSError``.
        """
        self._folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
        descriptor = lock_file.opened(self._path(uid), os.O_EXCL)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.pwrite(
            descriptor, json.dumps({"pid_namespace": process_tree.pid_namespace()}).encode(), 0
        )
        return descriptor

    def unlock(self, uid: str, descriptor: int) -> None:
        """Give the lock back, and remove its file."""
        self._path(uid).unlink(missing_ok=True)
        os.close(descriptor)

    def is_alive(self, holder: RunHolder) -> bool:
        held = lock_file.is_held(self._path(holder.uid))
        return _is_this_process(holder) if held is None else held

    def pid_here(self, holder: RunHolder) -> int | None:
        """The process id in this PID namespace, or None."""
        try:
            namespace = json.loads(self._path(holder.uid).read_bytes())["pid_namespace"]
        except FileNotFoundError:
            namespace = process_tree.pid_namespace()
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        here = namespace == process_tree.pid_namespace() and _is_this_process(holder)
        return holder.pid if here else None

    def since(self, holder: RunHolder) -> datetime | None:
        """When the run got its place; None in the former format."""
        try:
            return datetime.fromtimestamp(self._path(holder.uid).stat().st_mtime, UTC)
        except OSError:
            return None

    def sweep(self, uids: Iterable[str]) -> None:
        """Remove the files of all other runs."""
        known = frozenset(uids)
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path.name not in known and not lock_file.is_held(path):
                    path.unlink(missing_ok=True)

    def _path(self, uid: str) -> Path:
        return self._folder / uid


def _is_this_process(holder: RunHolder) -> bool:
    return process_tree.is_this(holder.pid, holder.ticks, holder.boot)
