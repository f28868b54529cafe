"""Small marks for the rows of tables: how full a NUMA node is, and which ones a pod is on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numalet.drawing import sheets, svg
from numalet.drawing.charts import BarPart
from numalet.drawing.scales import Unit

_HEIGHT_PX: Final = 12
_NODE_PX: Final = 8
_MOST_IN_A_ROW: Final = 16


def share_bar(
    title: str, parts: Sequence[BarPart], unit: Unit = Unit.COUNT, *, width_px: int = 120
) -> str:
    """One bar of parts that together are all there is, such as reserved, kept back and free."""
    words = ", ".join(f"{part.name} {unit.written(part.value)}" for part in parts)
    picture = sheets.picture(width_px, _HEIGHT_PX, title, words, "share")
    total = sum(part.value for part in parts)
    left_px = 0.0
    for part in parts:
        wide_px = part.value / total * width_px if total else 0.0
        mark = svg.add(
            picture, "rect", css_class=part.css_class, x=left_px, y=0, width=wide_px,
            height=_HEIGHT_PX,
        )  # fmt: skip
        svg.named(mark, f"{title}: {part.name} {unit.written(part.value)}")
        left_px += wide_px
    svg.add(
        picture, "rect", css_class="edge", x=0.5, y=0.5, width=width_px - 1, height=_HEIGHT_PX - 1
    )
    return svg.text_of(picture)


def nodes_of_pod(
    title: str, node_ids: Sequence[int], all_ids: Sequence[int], css_class: str = "accent"
) -> str:
    """A square for each NUMA node, full where the pod has something; 16 in a row."""
    columns = min(len(all_ids), _MOST_IN_A_ROW) or 1
    rows = -(-len(all_ids) // _MOST_IN_A_ROW) or 1
    held = frozenset(node_ids)
    words = f"NUMA nodes {', '.join(map(str, sorted(held)))}" if held else "on no NUMA node"
    step_px = _NODE_PX + 2
    picture = sheets.picture(columns * step_px, rows * step_px, title, words, "nodes")
    for at, node_id in enumerate(all_ids):
        is_held = node_id in held
        mark = svg.add(
            picture, "rect", css_class=css_class if is_held else "edge",
            x=at % _MOST_IN_A_ROW * step_px + 1, y=at // _MOST_IN_A_ROW * step_px + 1,
            width=_NODE_PX, height=_NODE_PX, data_numa_node=node_id,
        )  # fmt: skip
        svg.named(mark, f"NUMA node {node_id}" + ("" if is_held else ": nothing of this pod"))
    return svg.text_of(picture)
