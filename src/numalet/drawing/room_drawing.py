"""The rows of the first page: a line for each NUMA node, with a bar for each of its resources.

The bars are those of ``node_drawing``: hatched is reserved, filled is used, empty is free. A pod
has the letter and colour that it has there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model import numa_mask
from numalet.drawing import node_drawing, svg
from numalet.drawing.node import cpus, devices, holders, margins, memory
from numalet.drawing.node.pen import Box, Link, Pen
from numalet.insight.maps.node_map import NodeMap
from numalet.insight.maps.room import RoomRow

_LABEL_PX: Final = 132
_GAP_PX: Final = 20
_PAD_PX: Final = 6
_NARROW_PX: Final = 600
"""Below this width the bars of a row are below one another."""

_CLASSES: Final = {"cpu": "", "memory": "memory only", "empty": "no memory"}


def draw(
    chart: NodeMap,
    rows: Sequence[RoomRow],
    *,
    link: Link,
    width_px: int = 960,
    prefix: str = "room-",
    best: int | None = None,
) -> str:
    """Draw these NUMA nodes of the chart, in this order; ``best`` is the one with most room."""
    pen = Pen(
        chart=chart,
        holders=holders.by_uid(chart),
        pods={pod.uid: pod for pod in chart.pods},
        prefix=prefix,
        opened=frozenset(),
        link=link,
        cells=False,
    )
    picture = node_drawing.empty_picture(pen, width_px)
    # The rule of bars is said on the page; only other marks need a legend.
    others = {css_class for css_class, _ in margins.legend_rows(pen)} - {"free", "kept", "cache"}
    top = margins.legend(pen, picture, width_px) if others else 0.0
    for row in rows:
        top = _row(pen, picture, row, Box(0, top, width_px), is_best=row.node_id == best)
    picture.set("height", svg.number(top))
    picture.set("viewBox", f"-1 -1 {width_px + 2} {svg.number(top + 2)}")
    return svg.text_of(picture)


def _row(pen: Pen, picture: Element, row: RoomRow, place: Box, *, is_best: bool) -> float:
    (block,) = (each for each in pen.chart.nodes if each.node_id == row.node_id)
    group = svg.add(picture, "g", id=f"{pen.prefix}{row.node_id}", data_row=row.node_id)
    svg.add(group, "line", css_class="cell", x1=0, y1=place.top, x2=place.width, y2=place.top)
    is_narrow = place.width < _NARROW_PX
    label_px = place.width if is_narrow else _LABEL_PX
    top = place.top + _PAD_PX
    assert pen.link is not None
    anchor = svg.add(group, "a", href=pen.link(frozenset({row.node_id})))
    pen.line(anchor, f"NUMA node {row.node_id}", Box(0, top, label_px), "heading")
    end = top + 20
    for words in _notes(row, is_best=is_best):
        end = pen.paragraph(group, words, Box(0, end, label_px))
    attached = devices.of_node(pen, block)
    marks: tuple[Callable[[Box], float], ...] = (
        lambda at: cpus.mark_bar(pen, group, block, at),
        lambda at: memory.mark(pen, group, [block], at),
        lambda at: devices.mark(pen, group, attached, at, most_chips=0),
    )
    columns = 3 if any(pen.chart.devices) else 2
    column_px = (place.width - _LABEL_PX) / columns - _GAP_PX
    for at, mark in enumerate(marks[:columns]):
        if is_narrow:
            end = mark(Box(0, end, place.width))
        else:
            left = _LABEL_PX + _GAP_PX + at * (column_px + _GAP_PX)
            end = max(end, mark(Box(left, top, column_px)))
    return end + _PAD_PX


def _notes(row: RoomRow, *, is_best: bool) -> list[str]:
    others = f"one group with {numa_mask.listed(row.together_with)}"
    notes = ("most room" if is_best else "", _CLASSES[row.node_class])
    return [each for each in (*notes, others if row.together_with else "") if each]
