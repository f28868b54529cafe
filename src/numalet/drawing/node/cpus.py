"""The CPUs of a block: a cell for each, SMT siblings of a core one above the other; or a bar.

Cells are at least 6 px wide. A CPU that is free is empty, a shared one has a dash, a reserved one
stripes, an exclusive one the colour and letter of its holder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model import cpu_set
from numalet.drawing.node.pen import BAR_PX, Box, Pen
from numalet.insight.maps.node_map import NumaBlock
from numalet.insight.maps.resource_maps import CpuCell, CpuUse
from numalet.wording import numbers

_CELLS_PX: Final = (20, 16, 12, 8, 6)
_HIGHEST_PX: Final = 144
_CORE_GAP_PX: Final = 4


def mark(pen: Pen, group: Element, blocks: Sequence[NumaBlock], place: Box) -> float:
    """Mark the CPUs of one NUMA node, or of several together; return the lower end."""
    cells = [cell for block in blocks for cell in block.cpus]
    if not cells:
        return place.top
    words = _counts(pen, cells)
    listed = cpu_set.text(cell.cpu for cell in cells)
    end = pen.paragraph(group, f"{words}: {listed}", place)
    below = Box(place.left, end, place.width)
    is_open = len(blocks) == 1 and (pen.cells or blocks[0].node_id in pen.opened)
    size_px = _cell_px(blocks[0].cores, place.width, blocks[0].node_id in pen.opened)
    if is_open and size_px:
        return _cells(pen, group, blocks[0], below, size_px)
    return _bar(pen, group, blocks, cells, below)


def css_class(pen: Pen, cell: CpuCell) -> str:
    if cell.use is CpuUse.EXCLUSIVE:
        return pen.colours.of(cell.pod_uid)
    return "kept" if cell.use is CpuUse.RESERVED else _unheld(pen)


def _use_words(pen: Pen, cell: CpuCell) -> str:
    if cell.use is CpuUse.EXCLUSIVE:
        return f"exclusive to {pen.pod_title(cell.pod_uid)}"
    return "reserved" if cell.use is CpuUse.RESERVED else _unheld(pen)


def _unheld(pen: Pen) -> str:
    return "free" if pen.chart.gives_out_cpus else "shared"


def _counts(pen: Pen, cells: Sequence[CpuCell]) -> str:
    names = {
        CpuUse.SHARED: _unheld(pen),
        CpuUse.EXCLUSIVE: "exclusive",
        CpuUse.RESERVED: "reserved",
    }
    counted = {use: sum(cell.use is use for cell in cells) for use in names}
    total = numbers.counted(len(cells), "CPU")
    only = [use for use, count in counted.items() if count == len(cells)]
    if only:
        return f"{total}, all {names[only[0]]}" if len(cells) > 1 else f"{total}, {names[only[0]]}"
    listed = ", ".join(f"{count} {names[use]}" for use, count in counted.items() if count)
    return f"{listed} of {total}"


def _cell_px(cores: Sequence[Sequence[CpuCell]], width_px: float, is_opened: bool) -> int:
    """Return the largest size of cells that limits their height, or 0."""
    threads = max((len(core) for core in cores), default=1)
    for size_px in _CELLS_PX:
        per_line = int((width_px + _CORE_GAP_PX) // (size_px + _CORE_GAP_PX))
        lines = -(-len(cores) // per_line)
        if lines * (threads * size_px + _CORE_GAP_PX) <= _HIGHEST_PX:
            return size_px
    return 12 if is_opened else 0


def _cells(pen: Pen, group: Element, block: NumaBlock, place: Box, size_px: int) -> float:
    threads = max(len(core) for core in block.cores)
    per_line = int((place.width + _CORE_GAP_PX) // (size_px + _CORE_GAP_PX))
    line_px = threads * size_px + _CORE_GAP_PX
    for at, core in enumerate(block.cores):
        left = place.left + at % per_line * (size_px + _CORE_GAP_PX)
        top = place.top + at // per_line * line_px
        siblings = cpu_set.text(cell.cpu for cell in core)
        for above, cell in enumerate(core):
            box = Box(left, top + above * size_px, size_px, size_px)
            of_core = f" of core {siblings}" if len(core) > 1 else ""
            colour = css_class(pen, cell)
            pen.rect(
                group, box, colour, f"CPU {cell.cpu}{of_core}: {_use_words(pen, cell)}",
                uid=cell.pod_uid, mark_id=f"n{block.node_id}-cpu-{cell.cpu}",
                data_cpu=str(cell.cpu), data_use=cell.use.value,
            )  # fmt: skip
            pen.letter_in(group, colour, box)
        if len(core) > 1:
            frame = Box(left, top, size_px, size_px * len(core))
            pen.rect(group, frame, "bar", f"core of CPUs {siblings}")
    return place.top + -(-len(block.cores) // per_line) * line_px


def _bar(
    pen: Pen, group: Element, blocks: Sequence[NumaBlock], cells: Sequence[CpuCell], place: Box
) -> float:
    parts: dict[tuple[CpuUse, str], list[CpuCell]] = {}
    for cell in cells:
        parts.setdefault((cell.use, cell.pod_uid), []).append(cell)
    order = (CpuUse.RESERVED, CpuUse.EXCLUSIVE, CpuUse.SHARED)
    left = place.left
    for (use, uid), of_part in sorted(parts.items(), key=lambda item: order.index(item[0][0])):
        wide = place.width * len(of_part) / len(cells)
        box = Box(left, place.top, wide, BAR_PX)
        listed = cpu_set.text(cell.cpu for cell in of_part)
        words = f"{numbers.counted(len(of_part), 'CPU')} {_use_words(pen, of_part[0])}: {listed}"
        colour = css_class(pen, of_part[0])
        pen.rect(
            group, box, colour, words, uid=uid,
            mark_id=f"n{blocks[0].node_id}-cpus-{uid or use.value}",
            data_cpus=listed, data_use=use.value,
        )  # fmt: skip
        pen.letter_in(group, colour, box)
        left += wide
    return place.top + BAR_PX
