"""A kubelet's state directory: the state files in it, by name.

The device checkpoint is in the folder of the device plugins below the directory, as a kubelet
has it, or beside the others, as in a copy of the files. Only files whose content changed are
written, all of them or none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from numalet.core.checkpoint import cpu_file, device_file, memory_file
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value, replace
from numalet.io import os_problem
from numalet.io.documents import yaml_source
from numalet.io.files import atomic
from numalet.io.findings.documents import DocumentUnreadable
from numalet.io.findings.files import FilesNoRegularFile, FilesNoSuchDirectory

FILE_OF_ROOM: Mapping[str, str] = MappingProxyType(
    {
        "cpu-state": cpu_file.FILE_NAME,
        "memory-state": memory_file.FILE_NAME,
        "device-state": device_file.FILE_NAME,
    }
)
"""Names of the state files by the first part of the codes of what may be wrong with them."""

FILE_NAMES = tuple(FILE_OF_ROOM.values())

DEVICE_PLUGINS = "device-plugins"
"""The folder below the kubelet's root directory where plugins register."""


class StateDirectory(Value):
    """The directory, and what was in it when it was read.

    ``device_place`` is where the device checkpoint was then; empty if it was not there.
    """

    path: Path
    files: Mapping[str, str]
    device_place: str = ""

    def path_of(self, name: str) -> Path:
        """Where the file of this name is, or would be written."""
        return Path(self._place_of(name))

    def _place_of(self, name: str) -> str:
        if self.device_place and name == device_file.FILE_NAME:
            return self.device_place
        return _place_of(str(self.path), name)

    def holding(self, files: Mapping[str, str]) -> StateDirectory:
        """The same directory with these files in it, once they have been written."""
        return replace(self, files=files)

    def write(self, files: Mapping[str, str]) -> tuple[str, ...]:
        """Write what differs from what was read; the names that were written."""
        before = self.files
        changed = sorted([name for name, text in files.items() if before.get(name) != text])
        atomic.write_texts({self._place_of(name): files[name] for name in changed})
        return tuple(changed)


def read(path: Path) -> StateDirectory:
    """The state files of a directory; those that are missing are left out.

    Raises ``BadInput`` if there is no such directory or a file can not be read.
    """
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
    """The folders in which state files of a kubelet with this root directory may be."""
    return root, root / DEVICE_PLUGINS


def signatures(root: Path) -> tuple[object, ...]:
    """Another value than before once a state file was written; for the price of a few ``stat``."""
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
    """Whether a file of this name is a state file."""
    return path.name in FILE_NAMES


def _place_of(directory: str, name: str) -> str:
    """The first place of a state file, unless it is only in the other one."""
    beside = f"{directory}/{name}"
    if name != device_file.FILE_NAME:
        return beside
    below = f"{directory}/{DEVICE_PLUGINS}/{name}"
    if os.path.exists(below):
        return below
    is_below = os.path.isdir(os.path.dirname(below)) and not os.path.exists(beside)
    return below if is_below else beside


def read_file(path: Path) -> str | None:
    """The text of a state file, None if there is none.

    Bytes that are no text become U+FFFD, as in Go: the content is damaged then, and what is said
    and done about damage is the same whatever the disk made of the file.

    Raises ``BadInput`` if it can not be read.
    """
    with _readable(path):
        if path.exists() and not path.is_file():
            raise BadInput([FilesNoRegularFile(path=str(path), where=Location(str(path)))])
    try:
        return yaml_source.read_bytes(path).decode(errors="replace")
    except BadInput:
        # Between the check and the reading nothing is locked, so reading decides.
        if path.exists():
            raise
        return None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raise ``BadInput`` where the folders above do not let this user in."""
    try:
        yield
    except OSError as error:
        raise BadInput(
            [DocumentUnreadable(reason=os_problem.text(error), where=Location(str(path)))]
        ) from None
