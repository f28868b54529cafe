"""Scales of charts: round figures along an axis, and their format."""

from __future__ import annotations

import math
from enum import Enum
from typing import Final

from numalet.core.model.value import Value
from numalet.wording import numbers

_STEPS: Final = (1, 2, 5, 10)
_SECOND_STEPS: Final = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
)  # fmt: skip


class Unit(Enum):
    """The kind of figures: it determines their format, and which ones are round."""

    COUNT = "count"
    BYTES = "bytes"

    def written(self, value: float) -> str:
        """Format a figure for readers: ``12``, ``1.5`` or ``64Gi``."""
        if self is Unit.BYTES:
            return numbers.rounded_size(round(value))
        return f"{value:,.2f}".rstrip("0").rstrip(".")


class Scale(Value):
    """Figures from 0 to the last tick, on a length from ``start_px`` to ``end_px``."""

    ticks: tuple[float, ...]
    start_px: float
    end_px: float

    def at_px(self, value: float) -> float:
        """Return the position of a figure; figures beyond the ends are at the ends."""
        share = min(max(value / self.ticks[-1], 0.0), 1.0)
        return self.start_px + share * (self.end_px - self.start_px)


def ticks(most: float, unit: Unit, count: int = 4) -> tuple[float, ...]:
    """Return round figures from 0 to at least ``most``, in at most ``count`` steps.

    Steps are 1, 2 or 5 times a power of ten and whole, those of sizes are powers of two.
    """
    if unit is Unit.BYTES:
        step = 2.0 ** max(math.ceil(math.log2(max(most, 1) / count)), 0)
    else:
        wanted = max(most, 1) / count
        power = 10.0 ** math.floor(math.log10(wanted))
        step = max(power * next(each for each in _STEPS if each * power >= wanted), 1.0)
    return tuple(step * at for at in range(max(1, math.ceil(most / step)) + 1))


def moments(start_s: float, end_s: float, most: int) -> tuple[float, ...]:
    """Return at most ``most`` round times from start to end, in seconds since the epoch, in UTC."""
    length_s = max(end_s - start_s, 1.0)
    step_s = float(next((each for each in _SECOND_STEPS if length_s / each <= most - 1), 0))
    if not step_s:
        step_s = 86400.0 * math.ceil(length_s / 86400 / max(most - 1, 1))
    first = math.ceil(start_s / step_s)
    return tuple(step_s * at for at in range(first, math.floor(end_s / step_s) + 1))


def clock(moment_s: float, *, with_seconds: bool = False) -> str:
    """Format a time of day in UTC, ``14:05`` or ``14:05:30``."""
    seconds = int(moment_s) % 86400
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if with_seconds else text
