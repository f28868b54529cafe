"""Bar charts with horizontal bars, a label and a figure each.

Figures are next to their marks, so that readers need no axis. Every mark has a text alternative,
and the title of a chart has its main fact as a description. ``time_charts`` has charts over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model.value import Value
from numalet.drawing import letters, sheets, svg, text
from numalet.drawing.scales import Scale, Unit

_ROW_PX: Final = 24
_BAR_PX: Final = 16
_SMALLEST_LABELS: Final = 0.45
"""The minimum share of the width for labels."""


class BarPart(Value):
    """A part of a bar: its name, its figure, and its colour class (``tokens.COLOURS``)."""

    name: str
    value: float
    css_class: str = "accent"


class BarRow(Value, kw_only=True):
    """One bar of consecutive parts. ``ticks`` are figures marked on it, by name.

    ``note`` at its end replaces the sum of the parts.
    """

    label: str
    parts: tuple[BarPart, ...]
    marks: tuple[tuple[str, float], ...] = ()
    note: str = ""

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
    label_px = max((text.width_px(row.label) for row in rows), default=0.0)
    label_px = min(label_px, width_px * _SMALLEST_LABELS)
    widest_px = max((text.width_px(note) for note in notes), default=0.0)
    note_px = min(widest_px, width_px * 0.3)
    scale = _bar_scale(rows, label_px + 8, max(width_px - note_px - 8, label_px + 12))
    for at, (row, note) in enumerate(zip(rows, notes, strict=True)):
        group = svg.add(picture, "g", data_row=row.label)
        middle_px = top_px + at * _ROW_PX + _ROW_PX / 2
        label = text.shortened(row.label, label_px)
        svg.named(svg.add(group, "text", label, x=0, y=middle_px + 5), row.label)
        _bar(group, row, scale, unit, middle_px)
        words = text.shortened(note, note_px)
        svg.add(group, "text", words, css_class="end", x=width_px, y=middle_px + 5)
    return svg.text_of(picture)


def bars_fact(rows: Sequence[BarRow], unit: Unit) -> str:
    """Describe the longest bar, if there are bars."""
    if not rows:
        return "nothing to show"
    most = max(rows, key=lambda row: row.total)
    return f"{most.label} has most: {most.note or unit.written(most.total)}"


def _bar_scale(rows: Sequence[BarRow], start_px: float, end_px: float) -> Scale:
    figures = [row.total for row in rows]
    figures += [value for row in rows for _, value in row.marks]
    return Scale((0.0, max([*figures, 1.0])), start_px, end_px)


def _bar(group: Element, row: BarRow, scale: Scale, unit: Unit, middle_px: float) -> None:
    top_px = middle_px - _BAR_PX / 2
    so_far = 0.0
    for part in row.parts:
        left_px, right_px = scale.at_px(so_far), scale.at_px(so_far + part.value)
        mark = svg.add(
            group, "rect", css_class=f"{part.css_class} part", x=left_px, y=top_px,
            width=right_px - left_px, height=_BAR_PX,
        )  # fmt: skip
        svg.named(mark, f"{row.label}: {part.name} {unit.written(part.value)}")
        letters.mark(group, part.css_class, left_px, top_px, right_px - left_px, _BAR_PX)
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
    names = {part.name: part.css_class for row in whole_first for part in row.parts}
    return names if len(names) > 1 else {}
