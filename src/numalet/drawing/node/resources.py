"""The memory and the CPUs of a block.

Memory is a bar for each type, from reserved to free. CPUs are cells of at least 6 px, SMT siblings
of a core one above the other; or one bar. A free CPU is empty, a shared one has a dash, a reserved
one stripes, an exclusive one the colour and letter of its holder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model import cpu_set, numa_mask, resources
from numalet.drawing.node.pen import BAR_PX, Box, Pen
from numalet.insight.maps.node_map import MemoryBar, MemoryGroup, MemoryPart, NumaBlock
from numalet.insight.maps.resource_maps import CpuCell, CpuUse
from numalet.wording import numbers

_BELOW_BAR_PX = 4


def mark_memory(pen: Pen, group: Element, blocks: Sequence[NumaBlock], place: Box) -> float:
    """Mark the memory types of one NUMA node, or of several together; return the lower end."""
    top = place.top
    for bar in summed(blocks):
        words = _figures(bar)
        top = pen.paragraph(group, words, Box(place.left, top, place.width))
        if not bar.total_bytes:
            continue
        _memory_bar(pen, group, blocks[0].node_id, bar, Box(place.left, top, place.width, BAR_PX))
        top += BAR_PX + _BELOW_BAR_PX
    return top


def summed(blocks: Sequence[NumaBlock]) -> tuple[MemoryBar, ...]:
    """Return the memory of several NUMA nodes without allocations, or that of one."""
    if len(blocks) == 1:
        return blocks[0].memory
    names = dict.fromkeys(bar.resource for block in blocks for bar in block.memory)
    return tuple(
        MemoryBar(
            name,
            sum(bar.total_bytes for bar in bars),
            sum(bar.kept_back_bytes for bar in bars),
            sum(bar.free_bytes for bar in bars),
        )
        for name in names
        for bars in [[bar for each in blocks for bar in each.memory if bar.resource == name]]
    )


def group_of(pen: Pen, node_id: int) -> MemoryGroup | None:
    return next((each for each in pen.chart.groups if node_id in each.nodes), None)


def type_words(resource: str) -> str:
    """Return a readable memory type: ``1Gi pages``."""
    page_bytes = resources.page_bytes(resource)
    return resource if page_bytes is None else f"{numbers.size(page_bytes)} pages"


def _figures(bar: MemoryBar) -> str:
    name = type_words(bar.resource)
    if not bar.total_bytes:
        return f"no {name}"
    shown = numbers.rounded_size
    if bar.free_bytes == bar.total_bytes:
        return f"{name}: {shown(bar.total_bytes)}, all free"
    held = bar.total_bytes - bar.kept_back_bytes - bar.free_bytes
    parts = [f"{name}: {shown(bar.free_bytes)} free of {shown(bar.total_bytes)}"]
    if held:
        parts.append(f"{shown(held)} reserved for pods")
    if bar.kept_back_bytes:
        parts.append(f"{shown(bar.kept_back_bytes)} kept back")
    return ", ".join(parts)


def _memory_bar(pen: Pen, group: Element, node_id: int, bar: MemoryBar, place: Box) -> None:
    scale = place.width / max(bar.total_bytes, 1)
    left = place.left
    for css_class, uid, name, words, size_bytes in _parts(pen, node_id, bar):
        box = Box(left, place.top, size_bytes * scale, place.height)
        title = f"{type_words(bar.resource)}, {numbers.rounded_size(size_bytes)}: {words}"
        pen.rect(
            group, box, css_class, title, uid=uid,
            mark_id=f"n{node_id}-{bar.resource}-{name}", data_bytes=str(size_bytes),
        )  # fmt: skip
        pen.letter_in(group, css_class, box)
        left += box.width
    pen.rect(group, place, "bar", _figures(bar))


def _parts(pen: Pen, node_id: int, bar: MemoryBar) -> list[tuple[str, str, str, str, int]]:
    """Return class, pod, id, words and size of each part of a bar."""
    parts = [("kept", "", "kept-back", "reserved for the system", bar.kept_back_bytes)]
    for part in bar.parts:
        if part.pod_uid:
            words = f"reserved for {pen.pod_title(part.pod_uid)}"
            colour = pen.colours.of(part.pod_uid)
            parts.append((colour, part.pod_uid, part.pod_uid, words, part.size_bytes))
        else:
            parts.append(_joint(pen, node_id, part))
    parts.append(("free", "", "free", "free", bar.free_bytes))
    return [part for part in parts if part[-1] > 0]


def _joint(pen: Pen, node_id: int, part: MemoryPart) -> tuple[str, str, str, str, int]:
    group = group_of(pen, node_id)
    uids = () if group is None else group.pod_uids
    of_nodes = "" if group is None else f" of NUMA nodes {numa_mask.listed(group.nodes)} together"
    names = ", ".join(map(pen.pod_title, uids)) or "pods"
    uid = uids[0] if len(uids) == 1 else ""
    return "joint", uid, "joint", f"reserved for {names}{of_nodes}", part.size_bytes


_CELLS_PX: Final = (20, 16, 12, 8, 6)
_HIGHEST_PX: Final = 144
_CORE_GAP_PX: Final = 4


def mark_cpus(pen: Pen, group: Element, blocks: Sequence[NumaBlock], place: Box) -> float:
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
    return _cpu_bar(pen, group, blocks, cells, below)


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


def _cpu_bar(
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
