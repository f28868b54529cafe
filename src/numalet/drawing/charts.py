"""Bar charts with horizontal bars, and the scales of all charts: round figures along an axis.

Figures are next to their marks, so that readers need no axis. Every mark has a text alternative,
and the title of a chart has its main fact as a description. ``time_charts`` has charts over time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model.value import Value
from numalet.drawing import sheets, svg
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
    shown = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return f"{shown}:{seconds % 60:02}" if with_seconds else shown


_ROW_PX: Final = 24
_BAR_PX: Final = 16
_SMALLEST_LABELS: Final = 0.45
"""The minimum share of the width for labels."""


class BarPart(Value):
    """A part of a bar: its name, its figure, and its colour class (``tokens.COLOURS``).

    ``label`` is written on it if there is room.
    """

    name: str
    value: float
    css_class: str = "accent"
    label: str = ""


class BarRow(Value, kw_only=True):
    """One bar of consecutive parts. ``ticks`` are figures marked on it, by name.

    ``note`` at its end replaces the sum of the parts. Up to ``whole`` the bar is empty.
    """

    label: str
    parts: tuple[BarPart, ...]
    marks: tuple[tuple[str, float], ...] = ()
    note: str = ""
    whole: float = 0

    @property
    def total(self) -> float:
        return sum(part.value for part in self.parts)


def bars(
    title: str, rows: Sequence[BarRow], unit: Unit = Unit.COUNT, *, width_px: int = 480
) -> str:
    """Draw horizontal bars below one another, on one scale from 0."""
    names = _legend_names(rows)
    top_px = sheets.TITLE_PX + sheets.legend_px(names, width_px)
    height_px = top_px + len(rows) * _ROW_PX + 8
    picture = sheets.picture(width_px, height_px, title, bars_fact(rows, unit), "bars")
    sheets.heading(picture, title, width_px)
    if names:
        sheets.legend(picture, names, width_px, sheets.TITLE_PX)
    notes = [row.note or unit.written(row.total) for row in rows]
    label_px = max((svg.text_width_px(row.label) for row in rows), default=0.0)
    label_px = min(label_px, width_px * _SMALLEST_LABELS)
    widest_px = max((svg.text_width_px(note) for note in notes), default=0.0)
    note_px = min(widest_px, width_px * 0.3)
    scale = _bar_scale(rows, label_px + 8, max(width_px - note_px - 8, label_px + 12))
    for at, (row, note) in enumerate(zip(rows, notes, strict=True)):
        group = svg.add(picture, "g", data_row=row.label)
        middle_px = top_px + at * _ROW_PX + _ROW_PX / 2
        label = svg.shortened_text(row.label, label_px)
        svg.named(svg.add(group, "text", label, x=0, y=middle_px + 5), row.label)
        _bar(group, row, scale, unit, middle_px)
        words = svg.shortened_text(note, note_px)
        svg.add(group, "text", words, css_class="end", x=width_px, y=middle_px + 5)
    return svg.text_of(picture)


def bars_fact(rows: Sequence[BarRow], unit: Unit) -> str:
    """Describe the longest bar, if there are bars."""
    if not rows:
        return "nothing to show"
    most = max(rows, key=lambda row: row.total)
    return f"{most.label} has most: {most.note or unit.written(most.total)}"


def _bar_scale(rows: Sequence[BarRow], start_px: float, end_px: float) -> Scale:
    figures = [max(row.total, row.whole) for row in rows]
    figures += [value for row in rows for _, value in row.marks]
    return Scale((0.0, max([*figures, 1.0])), start_px, end_px)


def _bar(group: Element, row: BarRow, scale: Scale, unit: Unit, middle_px: float) -> None:
    top_px = middle_px - _BAR_PX / 2
    so_far = 0.0
    if row.whole:
        svg.add(
            group, "rect", css_class="free", x=scale.start_px, y=top_px,
            width=scale.at_px(row.whole) - scale.start_px, height=_BAR_PX,
        )  # fmt: skip
    for part in row.parts:
        left_px, right_px = scale.at_px(so_far), scale.at_px(so_far + part.value)
        mark = svg.add(
            group, "rect", css_class=f"{part.css_class} part", x=left_px, y=top_px,
            width=right_px - left_px, height=_BAR_PX,
        )  # fmt: skip
        svg.named(mark, f"{row.label}: {part.name} {unit.written(part.value)}")
        sheets.mark_letter(group, part.css_class, left_px, top_px, right_px - left_px, _BAR_PX)
        if part.label and svg.text_width_px(part.label, "small") < right_px - left_px - 4:
            svg.add(
                group, "text", part.label, css_class="small middle", x=(left_px + right_px) / 2,
                y=middle_px + 4, aria_hidden="true",
            )  # fmt: skip
        so_far += part.value
    svg.add(
        group, "line", css_class="grid", x1=scale.start_px, y1=middle_px - 10,
        x2=scale.start_px, y2=middle_px + 10,
    )  # fmt: skip
    for name, value in row.marks:
        at_px = scale.at_px(value)
        mark = svg.add(
            group, "line", css_class="tick", x1=at_px, y1=middle_px - 8, x2=at_px, y2=middle_px + 8
        )
        svg.named(mark, f"{row.label}: {name} {unit.written(value)}")


def _legend_names(rows: Sequence[BarRow]) -> dict[str, str]:
    """Return colours by the name of the part; empty if all bars have a single equal part.

    In the order of the bar with most parts.
    """
    whole_first = sorted(rows, key=lambda row: -len(row.parts))
    parts = (part for row in whole_first for part in row.parts if not part.label)
    names = {part.name: part.css_class for part in parts}
    return names if len(names) > 1 else {}
