"""A kubelet's state directory: its state files by name.

The device checkpoint is in the folder of device plugins, as a kubelet stores it, or next to the
others, as in a copy. Only changed files are written, all or nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from numalet.core.checkpoint import cpu_file, device_file, memory_file
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value, replace
from numalet.io import os_problem
from numalet.io.documents.text import yaml_source
from numalet.io.files import atomic
from numalet.io.findings.documents import DocumentUnreadable
from numalet.io.findings.files import FilesNoSuchDirectory

FILE_OF_ROOM: Mapping[str, str] = MappingProxyType(
    {
        "cpu-state": cpu_file.FILE_NAME,
        "memory-state": memory_file.FILE_NAME,
        "device-state": device_file.FILE_NAME,
    }
)
"""State files by the first part of the codes of their findings."""

FILE_NAMES = tuple(FILE_OF_ROOM.values())

DEVICE_PLUGINS = "device-plugins"
"""The folder below the kubelet's root directory where plugins register."""


class StateDirectory(Value):
    """The content when it was read; ``device_place`` is empty without a device checkpoint."""

    path: Path
    files: Mapping[str, str]
    device_place: str = ""

    def path_of(self, name: str) -> Path:
        return Path(self._place_of(name))

    def _place_of(self, name: str) -> str:
        if self.device_place and name == device_file.FILE_NAME:
            return self.device_place
        return _place_of(str(self.path), name)

    def holding(self, files: Mapping[str, str]) -> StateDirectory:
        """The same directory with these files as its content."""
        return replace(self, files=files)

    def write(self, files: Mapping[str, str]) -> tuple[str, ...]:
        before = self.files
        # A file that did not change is not written, so its time stays that of its last change.
        changed = sorted([name for name, text in files.items() if before.get(name) != text])
        if changed:
            atomic.write_texts({self._place_of(name): files[name] for name in changed})
        return tuple(changed)


def read(path: Path) -> StateDirectory:
    """Missing files are left out. Raises ``BadInput`` if a file or the directory is unreadable."""
    files, places = {}, {}
    with _readable(path):
        if not path.is_dir():
            raise BadInput([FilesNoSuchDirectory(path=str(path))])
        for name in FILE_NAMES:
            place = _place_of(str(path), name)
            text = read_file(Path(place))
            if text is not None:
                files[name], places[name] = text, place
    return StateDirectory(path, files, places.get(device_file.FILE_NAME, ""))


def folders(root: Path) -> tuple[Path, ...]:
    """The folders that may have state files of a kubelet with this root directory."""
    return root, root / DEVICE_PLUGINS


def signatures(root: Path) -> tuple[object, ...]:
    """A value that changes when a state file changes; costs a few ``stat`` calls."""
    there: list[object] = []
    for folder in folders(root):
        for name in FILE_NAMES:
            try:
                status = (folder / name).stat()
            except OSError:
                continue
            there.append((folder, name, status.st_ino, status.st_mtime_ns, status.st_size))
    return tuple(there)


def is_state_file(path: Path) -> bool:
    return path.name in FILE_NAMES


def _place_of(directory: str, name: str) -> str:
    beside = f"{directory}/{name}"
    if name != device_file.FILE_NAME:
        return beside
    # Prefer the kubelet's own place, unless the file is only in the other one.
    below = f"{directory}/{DEVICE_PLUGINS}/{name}"
    if os.path.exists(below):
        return below
    is_below = os.path.isdir(os.path.dirname(below)) and not os.path.exists(beside)
    return below if is_below else beside


def read_file(path: Path) -> str | None:
    """The text of a state file, if it exists.

    Raises ``BadInput`` if it is unreadable.
    """
    with _readable(path):
        if path.exists() and not path.is_file():
            raise input_error.Invalid(
                f"{str(path)!r} is not a regular file",
                expected="a state file",
                where=Location(str(path)),
            ).bad_input()
    try:
        # Go reads invalid UTF-8 as U+FFFD, too, so damaged files give the kubelet's findings.
        return yaml_source.read_bytes(path).decode(errors="replace")
    except BadInput:
        # The file may vanish after the check above, so the read decides.
        if path.exists():
            raise
        return None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raise ``BadInput`` if this user may not search the folders above."""
    try:
        yield
    except OSError as error:
        raise BadInput(
            [DocumentUnreadable(reason=os_problem.text(error), where=Location(str(path)))]
        ) from None
