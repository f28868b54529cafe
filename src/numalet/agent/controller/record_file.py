"""The records of all pods in one file that only grows, a line for each commit.

A line says which records became different, which went, and its own checksum::

    {"set":{"UID":{…}, …},"gone":["UID", …],"crc32":"89abcdef"}

So a commit is on the disk whole or not at all, and costs one write and one wait, however many
pods it is about. A last line that a crash cut off was never answered for and counts for nothing;
any other line that is not as it was written is given to the caller apart and changes no record.
When most of the file is of the past, and when another process changed it or a write failed, it is
replaced by one that says only what is. So too when a pod goes or its programs become others: what
their environments held may have been a secret, and is of no use any more.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from numalet.core.model.value import Value
from numalet.io.documents import yaml_source
from numalet.io.files import atomic

FILE_NAME: Final = "pods.jsonl"
QUARANTINE: Final = "pods.unreadable"
"""Texts of records, and lines of the file, that could not be read at a start."""
LARGEST_BYTES: Final = 1 << 30
"""A file larger than this is not read; a node has thousands of pods, not millions."""

_PAST_BYTES: Final = 8 << 20
"""So much of the past is kept at least before the file begins anew."""
_CHECKSUM: Final = b',"crc32":"%08x"}'


class _Line(msgspec.Struct, kw_only=True):
    """A line without its checksum."""

    set: dict[str, msgspec.Raw]
    gone: list[str]


class RecordTexts(Value):
    """The texts of records by uid, and by number the lines that are not as they were written."""

    by_uid: Mapping[str, bytes]
    damaged: Mapping[int, bytes]


class RecordFile:
    """The file in a folder; ``past_bytes`` is how much of it may be of the past."""

    def __init__(self, folder: Path, past_bytes: int = _PAST_BYTES) -> None:
        self.path: Final = folder / FILE_NAME
        self._past_bytes = past_bytes
        self._kept: dict[str, bytes] = {}
        self._kept_bytes = 0
        self._size_bytes = -1
        """Of the file; negative if it is not known to say what is kept."""

    def whole(
        self,
        changed: Mapping[str, bytes],
        gone: Collection[str],
        outdated: Collection[str] = (),
    ) -> bytes | None:
        """The whole new content, if the file is to be replaced; None if a line will do.

        ``changed`` are texts of records by uid, each in one line; ``outdated`` are those of them
        of which the former text has to leave the disk.
        """
        leaves = bool(outdated) or any(uid in self._kept for uid in gone)
        if (
            not leaves
            and self._is_current()
            and self._size_bytes < self._past_bytes + 2 * self._kept_bytes
        ):
            return None
        kept = {uid: each for uid, each in self._kept.items() if uid not in gone} | dict(changed)
        return b"".join(line({uid: each}, ()) for uid, each in kept.items())

    @contextmanager
    def appended(self, changed: Mapping[str, bytes], gone: Collection[str]) -> Iterator[int]:
        """A line at the end of the file, and the descriptor of it; it is not yet on the disk.

        Raises ``OSError``, as may what is done inside; then the line is removed again.
        """
        text = line(changed, gone)
        before, self._size_bytes = self._size_bytes, -1
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._append(descriptor, text, before)
            yield descriptor
        except BaseException:
            with suppress(OSError):
                os.ftruncate(descriptor, before)
            raise
        finally:
            os.close(descriptor)
        self._size_bytes = before + len(text)

    def _append(self, descriptor: int, text: bytes, before: int) -> None:
        try:
            _write_whole(descriptor, text)
        except OSError:
            # A disk that is full need not take the whole file once more.
            os.ftruncate(descriptor, before)
            self._size_bytes = before
            raise

    def keep(
        self, changed: Mapping[str, bytes], gone: Collection[str], whole: bytes | None = None
    ) -> None:
        """What was asked for is on the disk; ``whole`` if the file was replaced by that."""
        for uid in gone:
            self._kept_bytes -= len(self._kept.pop(uid, b""))
        for uid, text in changed.items():
            self._kept_bytes += len(text) - len(self._kept.get(uid, b""))
            self._kept[uid] = text
        if whole is not None:
            self._size_bytes = len(whole)

    def _is_current(self) -> bool:
        """Whether the file is unchanged; a user may have restored a copy, or removed it."""
        if self._size_bytes < 0:
            return False
        try:
            return self.path.stat().st_size == self._size_bytes
        except OSError:
            return False


def read(folder: Path) -> RecordTexts:
    """What the file in a folder says; nothing if there is no file.

    Raises:
        BadInput: the file cannot be read.
    """
    path = folder / FILE_NAME
    damaged: dict[int, bytes] = {}
    if not path.exists():
        return RecordTexts({}, damaged)
    lines = yaml_source.read_bytes(path, LARGEST_BYTES).rstrip(b"\n").split(b"\n")
    texts: dict[str, bytes] = {}
    for number, text in enumerate(lines, 1):
        said = _checked(text)
        if said is None:
            if number < len(lines):
                damaged[number] = text
            continue
        for uid in said.gone:
            texts.pop(uid, None)
        texts.update({uid: bytes(each) for uid, each in said.set.items()})
    return RecordTexts(texts, damaged)


def quarantine(folder: Path, texts: Iterable[bytes]) -> None:
    """Add these texts to the file of what cannot be read, a line each, unless they are there.

    Raises:
        BadInput: the file cannot be read or written.
    """
    path = folder / QUARANTINE
    before = yaml_source.read_bytes(path, LARGEST_BYTES) if path.exists() else b""
    known = before.splitlines()
    new = b"".join(each + b"\n" for each in texts if each not in known)
    with atomic.replaced({path: before + new}):
        atomic.sync_folders([folder])


def line(changed: Mapping[str, bytes], gone: Collection[str]) -> bytes:
    """The line of a commit."""
    raw = {uid: msgspec.Raw(each) for uid, each in changed.items()}
    body = msgspec.json.encode(_Line(set=raw, gone=sorted(gone)))[:-1]
    return body + _CHECKSUM % zlib.crc32(body) + b"\n"


def _write_whole(descriptor: int, text: bytes) -> None:
    if os.write(descriptor, text) != len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _checked(text: bytes) -> _Line | None:
    """The content of a line, or None if the line is damaged."""
    end = len(text) - len(_CHECKSUM % 0)
    body, checksum = text[: max(end, 0)], text[max(end, 0) :]
    if checksum != _CHECKSUM % zlib.crc32(body):
        return None
    try:
        return msgspec.json.decode(body + b"}", type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
