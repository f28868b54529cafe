"""Equal empty NUMA nodes in one block: a small mark for each, to open it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model import cpu_set
from numalet.drawing import svg
from numalet.drawing.node import margins
from numalet.drawing.node.layout import MINI_GAP_PX, MINI_PX
from numalet.drawing.node.pen import LINE_PX, Box, Pen
from numalet.insight.maps.node_map import NumaBlock
from numalet.wording import numbers

_BAR_PX: Final = 4
_ROUND: Final = 8
_HEIGHT_PX: Final = LINE_PX + _BAR_PX + 4


def mark(pen: Pen, group: Element, blocks: Sequence[NumaBlock], place: Box) -> float:
    """Mark each of several NUMA nodes by its id and memory; return the lower end."""
    per_line = max(1, int((place.width + MINI_GAP_PX) // (MINI_PX + MINI_GAP_PX)))
    if per_line > _ROUND:
        # Ids are easier to find in lines of 8 or 16.
        per_line -= per_line % _ROUND
    line_px = _HEIGHT_PX + MINI_GAP_PX
    for at, block in enumerate(blocks):
        left = place.left + at % per_line * (MINI_PX + MINI_GAP_PX)
        top = place.top + at // per_line * line_px
        _mini(pen, group, block, Box(left, top, MINI_PX, _HEIGHT_PX))
    return place.top + -(-len(blocks) // per_line) * line_px


def _mini(pen: Pen, group: Element, block: NumaBlock, place: Box) -> None:
    parent = group
    if pen.link is not None:
        address = pen.link(pen.opened | {block.node_id})
        parent = svg.add(group, "a", href=address, aria_label=f"NUMA node {block.node_id}: open")
    pen.rect(
        parent, place, "mini", _words(pen, block), mark_id=f"n{block.node_id}-mini",
        data_alike=str(block.node_id),
    )  # fmt: skip
    svg.add(
        parent, "text", str(block.node_id), css_class="small", x=place.left + place.width / 2,
        y=place.top + 13, text_anchor="middle", aria_hidden="true",
    )  # fmt: skip
    bar = Box(place.left + 4, place.top + LINE_PX, place.width - 8, _BAR_PX)
    total = sum(each.total_bytes for each in block.memory)
    kept = sum(each.kept_back_bytes for each in block.memory)
    pen.rect(parent, bar, "free", f"free memory of NUMA node {block.node_id}")
    if kept:
        held = Box(bar.left, bar.top, bar.width * kept / total, bar.height)
        pen.rect(parent, held, "kept", f"reserved on NUMA node {block.node_id}")


def _words(pen: Pen, block: NumaBlock) -> str:
    parts = [f"NUMA node {block.node_id}"]
    if block.cpus:
        listed = cpu_set.text(cell.cpu for cell in block.cpus)
        parts.append(f"{numbers.counted(len(block.cpus), 'CPU')}: {listed}")
    total = sum(each.total_bytes for each in block.memory)
    parts.append(f"{numbers.rounded_size(total)} of memory, huge pages included")
    if distances := margins.distance_words(pen, block.node_id):
        parts.append(distances)
    return "; ".join(parts)
