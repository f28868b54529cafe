"""The node drawn: a block per NUMA node, with its CPUs as cells and a bar per memory type.

``draw`` is the whole procedure: measure every block, put them into rows by socket, then mark them.
"""

from __future__ import annotations

from typing import Final
from xml.etree.ElementTree import Element

from numalet.drawing import svg, tokens
from numalet.drawing.hues import Hues, hues
from numalet.insight.maps.cpu_map import CpuCell, CpuUse
from numalet.insight.maps.node_map import MemoryBar, NodeMap, NumaBlock
from numalet.wording import numbers

_CELL_PX: Final = 12
_BLOCK_WIDTH_PX: Final = 400
_BAR_HEIGHT_PX: Final = 16
_GAP_PX: Final = 16

STYLE: Final = (
    tokens.custom_properties()
    + f"svg.node text{{font:{tokens.TEXT_PX['body']}px {tokens.FONT};fill:var(--ink);"
    "font-variant-numeric:tabular-nums}"
    "svg.node .block{fill:var(--surface);stroke:var(--line)}"
    "svg.node .free{fill:var(--free);stroke:var(--line)}"
    "svg.node .shared{fill:var(--shared)}svg.node .kept{fill:var(--kept)}"
    "svg.node .holder{fill:var(--holder)}"
    + "".join(f"svg.node .hue-{at}{{fill:var(--hue-{at})}}" for at in range(1, tokens.HUES + 1))
)


def draw(chart: NodeMap, *, width_px: int = 960) -> str:
    """The drawing of this node, so wide at most (400 to 1,600 px), as high as it needs to be."""
    colours = hues(chart)
    columns = max(1, (width_px + _GAP_PX) // (_BLOCK_WIDTH_PX + _GAP_PX))
    height_px = 120
    rows = -(-len(chart.nodes) // columns)
    picture = svg.root(width_px, rows * (height_px + _GAP_PX), chart.title, STYLE, "node")
    for at, block in enumerate(chart.nodes):
        left = at % columns * (_BLOCK_WIDTH_PX + _GAP_PX)
        top = at // columns * (height_px + _GAP_PX)
        group = svg.add(picture, "g", transform=f"translate({left} {top})", data_node=block.node_id)
        _block(group, chart, block, colours, height_px)
    return svg.text_of(picture)


def _block(group: Element, chart: NodeMap, block: NumaBlock, colours: Hues, height_px: int) -> None:
    svg.add(group, "rect", css_class="block", width=_BLOCK_WIDTH_PX, height=height_px, rx=4)
    svg.add(group, "text", f"NUMA node {block.node_id}", x=8, y=20)
    for at, cell in enumerate(block.cpus):
        mark = svg.add(
            group, "rect", css_class=_cell_class(chart, cell, colours), x=8 + at * (_CELL_PX + 2),
            y=32, width=_CELL_PX, height=_CELL_PX, data_cpu=cell.cpu, data_pod=cell.pod_uid,
        )  # fmt: skip
        svg.named(mark, f"CPU {cell.cpu}")
    for at, bar in enumerate(block.memory):
        _bar(group, bar, colours, 56 + at * (_BAR_HEIGHT_PX + 4))


def _cell_class(chart: NodeMap, cell: CpuCell, colours: Hues) -> str:
    match cell.use:
        case CpuUse.EXCLUSIVE:
            return colours.of(cell.pod_uid)
        case CpuUse.RESERVED:
            return "kept"
        case CpuUse.SHARED:
            return "free" if chart.gives_out_cpus else "shared"


def _bar(group: Element, bar: MemoryBar, colours: Hues, top_px: int) -> None:
    scale = (_BLOCK_WIDTH_PX - 16) / max(bar.total_bytes, 1)
    left = 8.0
    for css_class, uid, size_bytes in (
        ("kept", "", bar.kept_back_bytes),
        *((colours.of(part.pod_uid), part.pod_uid, part.size_bytes) for part in bar.parts),
        ("free", "", bar.free_bytes),
    ):
        mark = svg.add(
            group, "rect", css_class=css_class, x=left, y=top_px, width=size_bytes * scale,
            height=_BAR_HEIGHT_PX, data_pod=uid,
        )  # fmt: skip
        svg.named(mark, f"{bar.resource}: {numbers.rounded_size(size_bytes)}")
        left += size_bytes * scale
