"""Where the process runtime keeps what it needs to find its containers again.

``runs/UID/CONTAINER/ATTEMPT/`` below the agent's root, names escaped; in each such folder are
the shim's files and the program's output.
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
from numalet.core.enforcement import paths
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.io.files import atomic

RUNS: Final = "runs"
_MODE: Final = 0o700
_LEVELS: Final = 2
"""Folders between that of all runs and that of an attempt."""


class AttemptState(Enum):
    """The state of an attempt, from its folder alone."""

    NOTHING = "nothing"
    """No shim was ever given the order, or it ended before it did anything."""
    STARTING = "starting"
    RUNNING = "running"
    REFUSED = "refused"
    ENDED = "ended"
    LOST = "lost"
    """The program was started, its shim is gone, and no end was written."""


class AttemptFolder(Value):
    """One attempt and its folder."""

    key: ContainerKey
    number: int
    folder: Path

    @property
    def mark(self) -> str:
        """The environment variable of the attempt's processes."""
        return str(self.folder)

    def document(self, name: str) -> dict[str, Any] | None:
        """The content of one of the attempt's files; None without it."""
        return attempt_files.read(self.folder, name)

    def state(self) -> AttemptState:
        """How far it is."""
        if (self.folder / attempt_files.END).exists():
            return AttemptState.ENDED
        if (self.folder / attempt_files.REFUSED).exists():
            return AttemptState.REFUSED
        is_started = (self.folder / attempt_files.STARTED).exists()
        descriptor = self.lock()
        if descriptor is None:
            return AttemptState.RUNNING if is_started else AttemptState.STARTING
        os.close(descriptor)
        # It may have ended between the two checks.
        if (self.folder / attempt_files.END).exists():
            return AttemptState.ENDED
        return (
            AttemptState.LOST
            if (self.folder / attempt_files.STARTED).exists()
            else AttemptState.NOTHING
        )

    def prepare(self, order: Mapping[str, Any]) -> None:
        """Write the order, and nothing else yet. Raises ``BadInput`` and ``OSError``."""
        self._make_folders()
        atomic.write_text(self.folder / attempt_files.LAUNCH, as_json(order))

    def _make_folders(self) -> None:
        self.folder.parents[_LEVELS].mkdir(mode=_MODE, parents=True, exist_ok=True)
        for folder in (*reversed(self.folder.parents[:_LEVELS]), self.folder):
            folder.mkdir(mode=_MODE, exist_ok=True)

    def lock(self) -> int | None:
        """The lock as a descriptor; None if a shim holds it. Raises ``OSError``."""
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        try:
            descriptor = os.open(self.folder / attempt_files.LOCK, flags, 0o600)
        except FileNotFoundError:
            # The folder went meanwhile: no process holds anything.
            return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    def lock_is_held(self) -> bool:
        """Whether the shim lives."""
        descriptor = self.lock()
        if descriptor is None:
            return True
        os.close(descriptor)
        return False

    def write_end(self, content: Mapping[str, Any]) -> None:
        """Write down an end that its shim could not. Raises ``BadInput``."""
        atomic.write_text(self.folder / attempt_files.END, as_json(content))


class Attempts(Value):
    """All attempts below a folder."""

    folder: Path

    def of(self, key: ContainerKey, number: int) -> AttemptFolder:
        """The attempt, whether it is there or not."""
        folder = self.of_pod(key.pod_uid) / paths.segment(key.container) / str(number)
        return AttemptFolder(key, number, folder)

    def of_pod(self, uid: str) -> Path:
        """The folder of a pod."""
        return self.folder / paths.segment(uid)

    def all(self, uid: str | None = None) -> Iterator[AttemptFolder]:
        """Every attempt that has a folder, of one pod or of all, by name and number."""
        pods = _folders(self.folder) if uid is None else [self.of_pod(uid)]
        for pod in pods:
            pod_uid = paths.name_of(pod.name) if uid is None else uid
            for container in _folders(pod):
                name = paths.name_of(container.name)
                numbers = sorted(int(e.name) for e in _folders(container) if e.name.isdigit())
                if pod_uid is not None and name is not None:
                    key = ContainerKey(pod_uid, name)
                    yield from (AttemptFolder(key, n, container / str(n)) for n in numbers)

    def forget_before(self, attempt: AttemptFolder) -> None:
        """Remove what is older than the previous attempt, which can still be asked for.

        What can not be removed is tried again with the next attempt, or goes with the pod.
        """
        numbers = (int(e.name) for e in _folders(attempt.folder.parent) if e.name.isdigit())
        for number in numbers:
            if number < attempt.number - 1:
                with contextlib.suppress(OSError):
                    _remove_folder(attempt.folder.with_name(str(number)))

    def latest(self) -> Iterator[AttemptFolder]:
        """The attempt with the highest number, for each container."""
        latest = {attempt.key: attempt for attempt in self.all()}
        yield from latest.values()

    def pods(self) -> tuple[str, ...]:
        """Uids of all pods that have a folder."""
        names = (paths.name_of(folder.name) for folder in _folders(self.folder))
        return tuple(name for name in names if name is not None)

    def remove(self, uid: str) -> None:
        """Remove everything of a pod. Raises ``OSError``."""
        _remove_folder(self.of_pod(uid))


def moment(text: str | None) -> datetime | None:
    """A moment that a shim wrote down."""
    if text is None:
        return None
    whole, _, part = text.removesuffix("Z").partition(".")
    seconds = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    return seconds.replace(microsecond=int((part or "0").ljust(6, "0")[:6]))


def as_json(content: Mapping[str, Any]) -> str:
    """The content of an attempt's file as a text."""
    return json.dumps(content)


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.is_dir())
    except FileNotFoundError:
        return []


def _remove_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=False, onerror=_unless_gone)


def _unless_gone(_function: object, _path: str, problem: Any) -> None:
    if not isinstance(problem[1], FileNotFoundError):
        raise problem[1]
