"""The memory of a block: a bar for each type, from reserved to free."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from numalet.core.model import numa_mask, resources
from numalet.drawing.node.pen import BAR_PX, Box, Pen, unheld_class
from numalet.insight.maps.node_map import MemoryBar, MemoryGroup, MemoryPart, NumaBlock, Unheld
from numalet.wording import numbers

_BELOW_BAR_PX = 4


def mark(pen: Pen, group: Element, blocks: Sequence[NumaBlock], place: Box) -> float:
    """Mark the memory types of one NUMA node, or of several together; return the lower end."""
    top = place.top
    for bar in summed(blocks):
        words = _figures(pen, bar)
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


def _figures(pen: Pen, bar: MemoryBar) -> str:
    name = type_words(bar.resource)
    if not bar.total_bytes:
        return f"no {name}"
    shown = numbers.rounded_size
    if pen.chart.memory is not Unheld.FREE:
        words = pen.chart.memory.of_memory
        return f"{name}: {shown(bar.total_bytes)}" + (words and f", {words}")
    there = bar.allocatable_bytes
    if bar.free_bytes == there:
        parts = [f"{name}: {shown(there)}, all free"]
    else:
        parts = [f"{name}: {shown(bar.free_bytes)} of {shown(there)} free"]
    if bar.kept_back_bytes:
        parts.append(f"{shown(bar.kept_back_bytes)} reserved")
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
        pen.label_in(group, uid if css_class != "joint" else "", box)
        left += box.width
    pen.rect(group, place, "bar", _figures(pen, bar))


def _parts(pen: Pen, node_id: int, bar: MemoryBar) -> list[tuple[str, str, str, str, int]]:
    """Return class, pod, id, words and size of each part of a bar."""
    parts = [("kept", "", "kept-back", "reserved for the system", bar.kept_back_bytes)]
    for part in pen.by_letter(bar.parts, lambda part: part.pod_uid):
        if part.pod_uid:
            words = f"reserved for {pen.pod_title(part.pod_uid)}"
            colour = pen.holder(part.pod_uid).css_class
            parts.append((colour, part.pod_uid, part.pod_uid, words, part.size_bytes))
        else:
            parts.append(_joint(pen, node_id, part))
    words = pen.chart.memory.of_memory or "no pod has it"
    parts.append((unheld_class(pen.chart.memory), "", "free", words, bar.free_bytes))
    return [part for part in parts if part[-1] > 0]


def _joint(pen: Pen, node_id: int, part: MemoryPart) -> tuple[str, str, str, str, int]:
    group = group_of(pen, node_id)
    uids = () if group is None else group.pod_uids
    of_nodes = "" if group is None else f" of NUMA nodes {numa_mask.listed(group.nodes)} together"
    names = ", ".join(map(pen.pod_title, uids)) or "pods"
    uid = uids[0] if len(uids) == 1 else ""
    return "joint", uid, "joint", f"reserved for {names}{of_nodes}", part.size_bytes
