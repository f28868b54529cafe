"""What outlives an agent though it is about no pod: the age of the node, versions, a cordon.

A client that was away while the agent restarted compares resource versions of before with those of
after, so no version may ever be given out twice, also where the latest were about pods that are
gone or events never written. The file promises more versions than one life can use, and the
next life begins beyond them; the clock makes them grow where the file was lost, or where the whole
root folder is a new one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from numalet.core.model.value import Value
from numalet.io.files import atomic

FILE_NAME: Final = "node.json"
VERSIONS_OF_A_LIFE: Final = 10**9
"""Thirty changes a second for a year."""

_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST: Final = 10**17
"""A version beyond this is no work of an agent; clients take numbers of eighteen digits."""


class _File(msgspec.Struct, kw_only=True, rename="camel"):
    created_at: datetime
    versions_below: int
    unschedulable: bool = False


class NodeAge(Value):
    """``created_at`` is when the root folder was first used, ``first_version`` what may be used.

    ``unschedulable`` is whether the node was cordoned.
    """

    created_at: datetime
    first_version: int
    unschedulable: bool = False


def begin(root: Path, now: datetime) -> NodeAge:
    """The node's age at the begin of a life, which is on the disk then.

    Raises:
        BadInput: it can not be written.
    """
    path = root / FILE_NAME
    before = _read(path)
    of_clock = (now - _BEGINNING) // timedelta(microseconds=1)
    first = max(of_clock, 1, 0 if before is None else before.versions_below)
    created_at = now if before is None else before.created_at
    is_cordoned = before is not None and before.unschedulable
    below = first + VERSIONS_OF_A_LIFE
    _write(root, _File(created_at=created_at, versions_below=below, unschedulable=is_cordoned))
    return NodeAge(created_at, first, is_cordoned)


def keep_cordon(root: Path, age: NodeAge, unschedulable: bool) -> None:
    """Write down that the node was cordoned, or is so no more.

    Raises:
        BadInput: it can not be written.
    """
    below = age.first_version + VERSIONS_OF_A_LIFE
    after = _File(created_at=age.created_at, versions_below=below, unschedulable=unschedulable)
    _write(root, after)


def _write(root: Path, after: _File) -> None:
    atomic.write_text(root / FILE_NAME, msgspec.json.encode(after).decode() + "\n")
    atomic.sync_folders([root])


def _read(path: Path) -> _File | None:
    """What is there. A file that is damaged is none: the clock is enough nearly always."""
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if file.created_at.tzinfo is None or not 0 < file.versions_below < _MOST:
        return None
    return file
