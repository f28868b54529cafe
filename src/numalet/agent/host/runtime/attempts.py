"""Attempts of the process runtime on disk: ``runs/UID/CONTAINER/ATTEMPT/``, names escaped.

Each folder has the shim's files and the program's output.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Final

from numalet.agent.host.runtime.shim import attempt_files
from numalet.agent.host.runtime.shim.attempt_files import RUNS as RUNS
from numalet.core.enforcement import cgroup_paths
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.io.files import atomic

_MODE: Final = 0o700
_LEVELS: Final = 2
"""Folders between that of all runs and that of an attempt."""


class AttemptState(Enum):
    NOTHING = "nothing"
    """No shim received the order, or it ended before it did anything."""
    STARTING = "starting"
    RUNNING = "running"
    REFUSED = "refused"
    ENDED = "ended"
    LOST = "lost"
    """The program started and its shim ended without recording an exit."""


class AttemptFolder(Value):
    key: ContainerKey
    number: int
    folder: Path

    @property
    def mark(self) -> str:
        """The value of an environment variable that identifies the attempt's processes."""
        return str(self.folder)

    def document(self, name: str) -> dict[str, Any] | None:
        return attempt_files.read(self.folder, name)

    def state(self) -> AttemptState:
        if (self.folder / attempt_files.END).exists():
            return AttemptState.ENDED
        if (self.folder / attempt_files.REFUSED).exists():
            return AttemptState.REFUSED
        is_started = (self.folder / attempt_files.STARTED).exists()
        descriptor = self.lock()
        if descriptor is None:
            return AttemptState.RUNNING if is_started else AttemptState.STARTING
        os.close(descriptor)
        # The shim writes END before it releases the lock, so check again after the lock was free.
        if (self.folder / attempt_files.END).exists():
            return AttemptState.ENDED
        return (
            AttemptState.LOST
            if (self.folder / attempt_files.STARTED).exists()
            else AttemptState.NOTHING
        )

    def prepare(self, order: Mapping[str, Any]) -> None:
        """Write the order only. Raises ``BadInput`` and ``OSError``."""
        self._make_folders()
        atomic.write_text(self.folder / attempt_files.LAUNCH, as_json(order))

    def _make_folders(self) -> None:
        # Level by level: ``parents=True`` gives the intermediate folders the default mode and not
        # this one.
        self.folder.parents[_LEVELS].mkdir(mode=_MODE, parents=True, exist_ok=True)
        for folder in (*reversed(self.folder.parents[:_LEVELS]), self.folder):
            folder.mkdir(mode=_MODE, exist_ok=True)

    def lock(self) -> int | None:
        """Return a descriptor that holds the lock, if no shim holds it. Raises ``OSError``."""
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        try:
            descriptor = os.open(self.folder / attempt_files.LOCK, flags, 0o600)
        except FileNotFoundError:
            # The folder was removed meanwhile, so no process can hold its lock.
            return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    def lock_is_held(self) -> bool:
        descriptor = self.lock()
        if descriptor is None:
            return True
        os.close(descriptor)
        return False

    def write_end(self, content: Mapping[str, Any]) -> None:
        """Record the end that its shim could not record. Raises ``BadInput``."""
        atomic.write_text(self.folder / attempt_files.END, as_json(content))


class Attempts(Value):
    folder: Path

    def of(self, key: ContainerKey, number: int) -> AttemptFolder:
        """Returns a folder whether or not it exists."""
        folder = self.of_pod(key.pod_uid) / cgroup_paths.segment(key.container) / str(number)
        return AttemptFolder(key, number, folder)

    def of_pod(self, uid: str) -> Path:
        return self.folder / cgroup_paths.segment(uid)

    def all(self, uid: str | None = None) -> Iterator[AttemptFolder]:
        """Every attempt with a folder, of one pod or of all, sorted."""
        pods = _folders(self.folder) if uid is None else [self.of_pod(uid)]
        for pod in pods:
            pod_uid = cgroup_paths.name_of(pod.name) if uid is None else uid
            for container in _folders(pod):
                name = cgroup_paths.name_of(container.name)
                numbers = sorted(int(e.name) for e in _folders(container) if e.name.isdigit())
                if pod_uid is not None and name is not None:
                    key = ContainerKey(pod_uid, name)
                    yield from (AttemptFolder(key, n, container / str(n)) for n in numbers)

    def forget_before(self, attempt: AttemptFolder) -> None:
        """Remove attempts older than the previous one, whose log can still be requested."""
        numbers = (int(e.name) for e in _folders(attempt.folder.parent) if e.name.isdigit())
        for number in numbers:
            # A folder that cannot be removed now is tried at the next attempt, or removed with the
            # pod.
            if number < attempt.number - 1:
                with contextlib.suppress(OSError):
                    _remove_folder(attempt.folder.with_name(str(number)))

    def latest(self) -> Iterator[AttemptFolder]:
        """The highest attempt of each container."""
        # Attempts are sorted by number, so the last one wins.
        latest = {attempt.key: attempt for attempt in self.all()}
        yield from latest.values()

    def pods(self) -> tuple[str, ...]:
        """Uids of all pods that have a folder."""
        names = (cgroup_paths.name_of(folder.name) for folder in _folders(self.folder))
        return tuple(name for name in names if name is not None)

    def remove(self, uid: str) -> None:
        """Raises ``OSError``."""
        _remove_folder(self.of_pod(uid))


def moment(text: str | None) -> datetime | None:
    """Parse an RFC 3339 time; nanoseconds are truncated to microseconds."""
    if text is None:
        return None
    whole, _, part = text.removesuffix("Z").partition(".")
    seconds = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    return seconds.replace(microsecond=int((part or "0").ljust(6, "0")[:6]))


def as_json(content: Mapping[str, Any]) -> str:
    return json.dumps(content)


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.is_dir())
    except FileNotFoundError:
        return []


def _remove_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=False, onerror=_unless_gone)


# A shim may still write or rename files during the removal.
def _unless_gone(_function: object, _path: str, problem: Any) -> None:
    if not isinstance(problem[1], FileNotFoundError):
        raise problem[1]
