"""``node.json``: the node's age, resource versions and cordon, which outlive the agent.

Clients compare resource versions across restarts, so no version may be used twice. The file
reserves more versions than one run needs; the next run starts above them, and at least at the
clock.
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
"""Thirty changes per second for a year."""

_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST: Final = 10**17
"""A higher number is not from an agent; clients accept eighteen digits."""


class _File(msgspec.Struct, kw_only=True, rename="camel"):
    created_at: datetime
    versions_below: int
    unschedulable: bool = False


class NodeAge(Value):
    """``created_at`` is the first use of the root folder; versions start at ``first_version``."""

    created_at: datetime
    first_version: int
    unschedulable: bool = False


def begin(root: Path, now: datetime) -> NodeAge:
    """Start a run: reserve versions on disk. Raises ``BadInput``."""
    path = root / FILE_NAME
    before = _read(path)
    # If the file was lost, the clock is above every version of an earlier run.
    of_clock = (now - _BEGINNING) // timedelta(microseconds=1)
    first = max(of_clock, 1, 0 if before is None else before.versions_below)
    created_at = now if before is None else before.created_at
    is_cordoned = before is not None and before.unschedulable
    below = first + VERSIONS_OF_A_LIFE
    _write(root, _File(created_at=created_at, versions_below=below, unschedulable=is_cordoned))
    return NodeAge(created_at, first, is_cordoned)


def keep_cordon(root: Path, age: NodeAge, unschedulable: bool) -> None:
    """Store the cordon. Raises ``BadInput``."""
    below = age.first_version + VERSIONS_OF_A_LIFE
    after = _File(created_at=age.created_at, versions_below=below, unschedulable=unschedulable)
    _write(root, after)


def _write(root: Path, after: _File) -> None:
    atomic.write_text(root / FILE_NAME, msgspec.json.encode(after).decode() + "\n")
    # The reservation must survive a power loss before any version is used.
    atomic.sync_folders([root])


def _read(path: Path) -> _File | None:
    """Read the file. A damaged one is ignored, since the clock nearly always suffices."""
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if file.created_at.tzinfo is None or not 0 < file.versions_below < _MOST:
        return None
    return file
