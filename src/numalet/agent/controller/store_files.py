"""The store's files besides the kubelet's: ``pods.jsonl`` and ``node.json``.

``pods.jsonl`` has all pod records, one line per commit, appended:
``{"set":{"UID":{…}},"gone":["UID"],"crc32":"89abcdef"}``. A commit is one line, so it is on disk
whole or not at all, at the cost of one write and one fsync. A truncated last line belongs to an
unanswered commit and is dropped; other damaged lines are returned separately. The file is rewritten
when most of it is outdated, and after an error or a foreign change. A removed or changed pod also
causes a rewrite, since old environments may contain secrets.

``node.json`` has the node's age, resource versions and cordon, which outlive the agent. Clients
compare resource versions across restarts, so no version may be used twice. The file reserves more
versions than one run needs; the next run starts above them, and at least at the clock.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from numalet.core.model.value import Value
from numalet.io.documents.text import yaml_source
from numalet.io.files import atomic

RECORD_FILE: Final = "pods.jsonl"
QUARANTINE: Final = "pods.unreadable"
"""Unreadable records and damaged lines."""
LARGEST_BYTES: Final = 1 << 30
"""Not read if larger; a node has thousands of pods, not millions."""

_PAST_BYTES: Final = 8 << 20
"""Minimum of outdated content before a rewrite."""
_CHECKSUM: Final = b',"crc32":"%08x"}'

NODE_FILE: Final = "node.json"
VERSIONS_OF_A_LIFE: Final = 10**9
"""Thirty changes per second for a year."""

_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_VERSIONS: Final = 10**17
"""A higher number is not from an agent; clients accept eighteen digits."""


class _Line(msgspec.Struct, kw_only=True):
    set: dict[str, msgspec.Raw]
    gone: list[str]


class RecordTexts(Value):
    """Records by uid, and damaged lines by number."""

    by_uid: Mapping[str, bytes]
    damaged: Mapping[int, bytes]


class RecordFile:
    """``past_bytes`` is the minimum of outdated content before a rewrite."""

    def __init__(self, folder: Path, past_bytes: int = _PAST_BYTES) -> None:
        self.path: Final = folder / RECORD_FILE
        self._past_bytes = past_bytes
        self._kept: dict[str, bytes] = {}
        """The line of each record by uid: one removal rewrites the lines of all others."""
        self._kept_bytes = 0
        self._size_bytes = -1
        """Of the file; negative if its content may differ from memory."""

    def whole(
        self,
        changed: Mapping[str, bytes],
        gone: Collection[str],
        outdated: Collection[str] = (),
    ) -> bytes | None:
        """The new content, if the file must be rewritten and a line does not suffice.

        ``changed`` are one-line records by uid; old texts of ``outdated`` ones must leave the disk.
        """
        # Appending would leave the environment of a removed pod, with its secrets, in the file.
        leaves = bool(outdated) or any(uid in self._kept for uid in gone)
        if (
            not leaves
            and self._is_current()
            # The limit grows with the content, so the average cost of a commit stays constant.
            and self._size_bytes < self._past_bytes + 2 * self._kept_bytes
        ):
            return None
        kept = {uid: line for uid, line in self._kept.items() if uid not in gone}
        return b"".join((kept | _lines(changed)).values())

    @contextmanager
    def appended(self, changed: Mapping[str, bytes], gone: Collection[str]) -> Iterator[int]:
        """Append a line; yield the descriptor for the caller's fsync. Raises ``OSError``.

        On an error in the block the line is removed again.
        """
        text = commit_line(changed, gone)
        # Unknown until the end: a failure in between leads to a rewrite.
        before, self._size_bytes = self._size_bytes, -1
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._append(descriptor, text, before)
            yield descriptor
        except BaseException:
            # The line may be on disk without the caller's fsync; a later read must not find it.
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
            # A full disk accepts a truncation, but perhaps not a whole new file.
            os.ftruncate(descriptor, before)
            self._size_bytes = before
            raise

    def keep(
        self, changed: Mapping[str, bytes], gone: Collection[str], whole: bytes | None = None
    ) -> None:
        """Record that the commit is on disk; ``whole`` if the file was rewritten."""
        for uid in gone:
            self._kept_bytes -= len(self._kept.pop(uid, b""))
        for uid, line in _lines(changed).items():
            self._kept_bytes += len(line) - len(self._kept.get(uid, b""))
            self._kept[uid] = line
        if whole is not None:
            self._size_bytes = len(whole)

    def _is_current(self) -> bool:
        """Whether the file is unchanged; a user may have restored or removed it."""
        if self._size_bytes < 0:
            return False
        try:
            return self.path.stat().st_size == self._size_bytes
        except OSError:
            return False


def read_records(folder: Path) -> RecordTexts:
    """Read the records, if there is a file. Raises ``BadInput``."""
    path = folder / RECORD_FILE
    damaged: dict[int, bytes] = {}
    if not path.exists():
        return RecordTexts({}, damaged)
    lines = yaml_source.read_bytes(path, LARGEST_BYTES).rstrip(b"\n").split(b"\n")
    texts: dict[str, bytes] = {}
    for number, text in enumerate(lines, 1):
        said = _checked_line(text)
        if said is None:
            # The last line may be truncated by a crash; its commit was never answered.
            if number < len(lines):
                damaged[number] = text
            continue
        # Removals first: one commit may remove a pod and add another with the same uid.
        for uid in said.gone:
            texts.pop(uid, None)
        texts.update({uid: bytes(each) for uid, each in said.set.items()})
    return RecordTexts(texts, damaged)


def quarantine(folder: Path, texts: Iterable[bytes]) -> None:
    """Append new texts to the quarantine file. Raises ``BadInput``."""
    path = folder / QUARANTINE
    before = yaml_source.read_bytes(path, LARGEST_BYTES) if path.exists() else b""
    known = before.splitlines()
    new = b"".join(each + b"\n" for each in texts if each not in known)
    with atomic.replaced({path: before + new}):
        atomic.sync_folders([folder])


def commit_line(changed: Mapping[str, bytes], gone: Collection[str]) -> bytes:
    """Encode a commit."""
    raw = {uid: msgspec.Raw(each) for uid, each in changed.items()}
    body = msgspec.json.encode(_Line(set=raw, gone=sorted(gone)))[:-1]
    return body + _CHECKSUM % zlib.crc32(body) + b"\n"


def _lines(changed: Mapping[str, bytes]) -> dict[str, bytes]:
    """A line for each record."""
    return {uid: commit_line({uid: text}, ()) for uid, text in changed.items()}


def _write_whole(descriptor: int, text: bytes) -> None:
    # A short write without an error means a full disk.
    if os.write(descriptor, text) != len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _checked_line(text: bytes) -> _Line | None:
    """Decode a line, unless it is damaged."""
    end = len(text) - len(_CHECKSUM % 0)
    body, checksum = text[: max(end, 0)], text[max(end, 0) :]
    if checksum != _CHECKSUM % zlib.crc32(body):
        return None
    try:
        return msgspec.json.decode(body + b"}", type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class _NodeFile(msgspec.Struct, kw_only=True, rename="camel"):
    created_at: datetime
    versions_below: int
    unschedulable: bool = False


class NodeAge(Value):
    """``created_at`` is the first use of the root folder; versions start at ``first_version``."""

    created_at: datetime
    first_version: int
    unschedulable: bool = False


def begin_life(root: Path, now: datetime) -> NodeAge:
    """Start a run: reserve versions on disk. Raises ``BadInput``."""
    path = root / NODE_FILE
    before = _read_node(path)
    # If the file was lost, the clock is above every version of an earlier run.
    of_clock = (now - _BEGINNING) // timedelta(microseconds=1)
    first = max(of_clock, 1, 0 if before is None else before.versions_below)
    created_at = now if before is None else before.created_at
    is_cordoned = before is not None and before.unschedulable
    below = first + VERSIONS_OF_A_LIFE
    _write_node(
        root, _NodeFile(created_at=created_at, versions_below=below, unschedulable=is_cordoned)
    )
    return NodeAge(created_at, first, is_cordoned)


def keep_cordon(root: Path, age: NodeAge, unschedulable: bool) -> None:
    """Store the cordon. Raises ``BadInput``."""
    below = age.first_version + VERSIONS_OF_A_LIFE
    after = _NodeFile(created_at=age.created_at, versions_below=below, unschedulable=unschedulable)
    _write_node(root, after)


def _write_node(root: Path, after: _NodeFile) -> None:
    atomic.write_text(root / NODE_FILE, msgspec.json.encode(after).decode() + "\n")
    # The reservation must survive a power loss before any version is used.
    atomic.sync_folders([root])


def _read_node(path: Path) -> _NodeFile | None:
    """Read the file. A damaged one is ignored, since the clock nearly always suffices."""
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_NodeFile)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if file.created_at.tzinfo is None or not 0 < file.versions_below < _MOST_VERSIONS:
        return None
    return file
