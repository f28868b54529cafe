"""Writes a machine's files as a small tarball, to keep or to share.

Equal machines give equal bytes: names are sorted, times and owners are zero. Reading the tarball
gives the same machine again.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.core.model.value import Mutable, field
from numalet.io import os_problem
from numalet.io.sysfs.discover import read_machine
from numalet.io.sysfs.trees import Tree


class _RecordingTree(Mutable):
    """A tree that records the paths that were read successfully."""

    inner: Tree
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def text(self, path: str) -> str | None:
        content = self.inner.text(path)
        if content is not None:
            self.files[path] = content
        return content

    def link(self, path: str) -> str | None:
        return self.inner.link(path)

    def names(self, path: str, wanted: re.Pattern[str]) -> tuple[str, ...]:
        names = self.inner.names(path, wanted)
        for name in names:
            entry = f"{path}/{name}"
            target = self.inner.link(entry)
            if target is not None:
                self.links[entry] = target
            elif self.inner.is_directory(entry):
                self.folders.add(entry)
            else:
                # The reader may only check that the file exists.
                self.files.setdefault(entry, "")
        return names

    def is_directory(self, path: str) -> bool:
        there = self.inner.is_directory(path)
        if there:
            self.folders.add(path)
        return there


def capture(tree: Tree, path: Path, document: str) -> int:
    """Write the tarball atomically and return its size in bytes. Raises ``BadInput``."""
    recording = _RecordingTree(tree)
    read_machine(recording, document)
    content = _tarball(recording)
    try:
        _write(path, content)
    except OSError as error:
        raise input_error.Unwritable(
            f"cannot write the capture to {str(path)!r}: {os_problem.text(error)}; no file was "
            "left behind",
            where=Location(str(path)),
        ).bad_input() from None
    return len(content)


def _tarball(recording: _RecordingTree) -> bytes:
    packed = io.BytesIO()
    with (
        # Without name and time, so that equal machines give equal bytes.
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for member, content in sorted(_members(recording), key=lambda each: each[0].name):
            archive.addfile(member, None if content is None else io.BytesIO(content))
    return packed.getvalue()


def _members(recording: _RecordingTree) -> Iterator[tuple[tarfile.TarInfo, bytes | None]]:
    for path in recording.folders:
        member = tarfile.TarInfo(path)
        member.type = tarfile.DIRTYPE
        member.mode = 0o755
        yield member, None
    for path, target in recording.links.items():
        member = tarfile.TarInfo(path)
        member.type = tarfile.SYMTYPE
        member.linkname = target
        member.mode = 0o777
        yield member, None
    for path, text in recording.files.items():
        content = text.encode("utf-8", "replace")
        member = tarfile.TarInfo(path)
        member.size = len(content)
        member.mode = 0o644
        yield member, content


def _write(path: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
