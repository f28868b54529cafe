"""Durations as kubectl prints them: ``113s``, ``5m30s``, ``3d4h``.

Kubernetes: ``apimachinery/pkg/util/duration.HumanDuration``, v1.32.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

UNKNOWN: Final = "<unknown>"
_SECOND_OF_CLOCK_SKEW: Final = -1
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

_STEPS: Final = (
    # Below this many seconds: the unit, and the unit of the remainder.
    (2 * _MINUTE, (1, "s"), None),
    (10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
    (3 * _HOUR, (_MINUTE, "m"), None),
    (8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
    (2 * _DAY, (_HOUR, "h"), None),
    (8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
    (2 * _YEAR, (_DAY, "d"), None),
    (8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
)


def age(text: str | None, now: datetime) -> str:
    """The age of a Kubernetes timestamp, or ``<unknown>``."""
    if not text:
        return UNKNOWN
    at = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return duration(now - at)


def duration(length: timedelta) -> str:
    """Longer durations are less precise."""
    seconds = int(length.total_seconds())
    if seconds < 0:
        # kubectl tolerates one second of clock skew.
        return "0s" if seconds >= _SECOND_OF_CLOCK_SKEW else "<invalid>"
    for below, (unit, letter), rest in _STEPS:
        if seconds < below:
            left = seconds % unit // rest[0] if rest else 0
            return f"{seconds // unit}{letter}" + (f"{left}{rest[1]}" if rest and left else "")
    return f"{seconds // _YEAR}y"
