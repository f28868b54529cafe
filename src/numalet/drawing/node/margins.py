"""The margins around the blocks: legend, distances, and marks for equal empty nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model import cpu_set, numa_mask
from numalet.drawing import svg
from numalet.drawing.node import holders
from numalet.drawing.node.layout import GAP_PX, MINI_GAP_PX, MINI_PX
from numalet.drawing.node.pen import BAR_PX, LINE_PX, SMALL_PX, Box, Pen, unheld_class
from numalet.insight.maps.finding import SearchResult
from numalet.insight.maps.map_devices import DeviceUse
from numalet.insight.maps.node_map import NumaBlock, Unheld
from numalet.insight.maps.resource_maps import CpuUse
from numalet.wording import numbers

_WHOLE_MARKS: Final = {"data-bytes", "data-device", "data-devices", "data-cpus"}
_SWATCH_PX: Final = 12
_WIDE_SWATCH_PX: Final = 22
_COLUMN_PX: Final = 300
_POOL_PX: Final = 320
_MOST_REFUSED: Final = 4
_MOST_IN_MATRIX: Final = 16
_ROW_PX: Final = 20
_UNHELD: Final = {
    Unheld.FREE: "free",
    Unheld.SHARED: "shared by all pods",
    Unheld.NOT_HELD: "not held: free or reserved",
}
_IN_TITLES: Final = (
    "Distances between NUMA nodes: rest the pointer on one, and it says how far the others are."
)


def legend(pen: Pen, picture: Element, width_px: int) -> float:
    """Draw the meaning of the used patterns; return the lower end."""
    left, top = 0.0, 0.0
    for css_class, words in legend_rows(pen):
        wide = min(_SWATCH_PX + 4 + svg.text_width_px(words, "small") + 1, width_px)
        if left and left + wide > width_px:
            left, top = 0.0, top + LINE_PX + 4
        pen.rect(picture, Box(left, top + 2, _SWATCH_PX, _SWATCH_PX), css_class, words)
        pen.line(picture, words, Box(left + _SWATCH_PX + 4, top, wide - _SWATCH_PX - 4), "figure")
        left += wide + GAP_PX
    return top + LINE_PX + 8


def legend_of_holders(pen: Pen, picture: Element, top_px: float, width_px: int) -> float:
    """List every holder with its letter, CPUs, memory and devices, in columns; return the end."""
    shown = [*{holder.letter: holder for holder in pen.holders.values()}.values()]
    columns = min(max(1, width_px // _COLUMN_PX), len(shown))
    column_px = (width_px + GAP_PX) / columns - GAP_PX
    swatch_px = _SWATCH_PX if len(shown[-1].letter) == 1 else _WIDE_SWATCH_PX
    top = top_px
    for start in range(0, len(shown), columns):
        end = top
        for at, holder in enumerate(shown[start : start + columns]):
            left = at * (column_px + GAP_PX)
            uid = holder.pods[0].uid
            words = holders.words(pen.chart, holder)
            swatch = Box(left, top + 2, swatch_px, _SWATCH_PX)
            pen.rect(picture, swatch, holder.css_class, words, uid=uid)
            _centred(picture, holder.letter, swatch, f"letter on-{holder.css_class}")
            room = Box(left + swatch_px + 4, top, column_px - swatch_px - 4)
            end = max(end, pen.paragraph(picture, words, room))
        top = end + 4
    return top + 4


def refusals(pen: Pen, picture: Element, top_px: float, width_px: int) -> float:
    """Name the rejected pods with their causes; return the lower end."""
    shown = pen.chart.refused[:_MOST_REFUSED]
    for each in shown:
        top_px = pen.paragraph(picture, each.words, Box(0, top_px, width_px), css_class="bad")
    if more := len(pen.chart.refused) - len(shown):
        words = f"and {numbers.counted(more, 'rejected pod')} more"
        top_px = pen.paragraph(picture, words, Box(0, top_px, width_px), css_class="bad")
    return top_px + 8


def shared_pool(pen: Pen, picture: Element, top_px: float, width_px: int) -> float:
    """Draw the shared pool: a bar with the sum of requests, its CPUs and pods; return the end."""
    pool = pen.chart.pool
    end = pen.paragraph(picture, pool.sentence, Box(0, top_px, width_px))
    bar = Box(0, end, min(_POOL_PX, width_px), BAR_PX)
    load = min(pool.cpu_milli / (1000 * len(pool.cpus)), 1)
    pen.rect(picture, bar, "free", pool.sentence)
    if load:
        pen.rect(picture, Box(0, end, bar.width * load, BAR_PX), "holder", pool.sentence)
    return end + BAR_PX


def mark_result(picture: Element, found: SearchResult) -> None:
    """Draw a ring around every mark of what a reader searches for."""
    for mark in [*picture.iter()]:
        cpus = cpu_set.parse(mark.get("data-cpu", mark.get("data-cpus", "")))
        is_of_pod = mark.get("data-pod") in found.pod_uids and (
            mark.get("class") == "run" or {*mark.keys()} & _WHOLE_MARKS
        )
        if cpus & found.cpus or mark.get("data-device") in found.device_ids or is_of_pod:
            for box in mark.findall("rect")[:1] if mark.tag == "g" else [mark]:
                left, top = float(box.get("x", 0)) - 2, float(box.get("y", 0)) - 2
                wide, high = float(box.get("width", 0)) + 4, float(box.get("height", 0)) + 4
                # The ground makes the ring visible on marks of its own colour.
                for css_class in ("found-ground", "found"):
                    svg.add(
                        picture, "rect", css_class=css_class, x=left, y=top, width=wide,
                        height=high, rx=3,
                    )  # fmt: skip


def has_distances(pen: Pen) -> bool:
    """Return whether all distances are known, and there are several NUMA nodes."""
    count = len(pen.chart.nodes)
    return count > 1 and all(
        each.distances is not None and len(each.distances) == count for each in pen.chart.nodes
    )


def distances(pen: Pen, picture: Element, top_px: float, width_px: int) -> float:
    """Draw the distances as a table, or a reference if it were large; return the lower end."""
    if len(pen.chart.nodes) <= _MOST_IN_MATRIX:
        return _matrix(pen, picture, top_px, width_px)
    for line in svg.text_lines(_IN_TITLES, width_px, 3):
        pen.line(picture, line, Box(0, top_px, width_px), "small")
        top_px += LINE_PX
    return top_px


def _matrix(pen: Pen, picture: Element, top_px: float, width_px: int) -> float:
    nodes = pen.chart.nodes
    cell_px = min((width_px - 32) // len(nodes), 36)
    pen.line(picture, "Distances between NUMA nodes", Box(0, top_px, width_px), "heading")
    top = top_px + _ROW_PX
    for at, node in enumerate(nodes):
        _centred(picture, str(node.node_id), Box(32 + at * cell_px, top, cell_px, LINE_PX), "small")
    top += LINE_PX
    for node in nodes:
        _centred(picture, str(node.node_id), Box(0, top, 32, _ROW_PX), "small")
        for at, (other, away) in enumerate(zip(nodes, node.distances or (), strict=True)):
            box = Box(32 + at * cell_px, top, cell_px, _ROW_PX)
            css_class = "own" if other is node else "cell"
            words = f"NUMA node {node.node_id} to {other.node_id}: distance {away}"
            pen.rect(picture, box, css_class, words)
            _centred(picture, str(away), box, "figure")
        top += _ROW_PX
    return top


def distance_words(pen: Pen, node_id: int) -> str:
    """Return the distances of a NUMA node, grouped by value; empty if unknown."""
    (node,) = (each for each in pen.chart.nodes if each.node_id == node_id)
    if node.distances is None or len(node.distances) != len(pen.chart.nodes):
        return ""
    by_distance: dict[int, list[int]] = {}
    for other, away in zip(pen.chart.nodes, node.distances, strict=True):
        by_distance.setdefault(away, []).append(other.node_id)
    listed = (f"{away} to {numa_mask.listed(to)}" for away, to in sorted(by_distance.items()))
    return f"distance {'; '.join(listed)}"


def legend_rows(pen: Pen) -> list[tuple[str, str]]:
    cells = {cell.use for node in pen.chart.nodes for cell in node.cpus}
    bars = [bar for node in pen.chart.nodes for bar in node.memory]
    unheld = dict.fromkeys([pen.chart.memory] if bars else [])
    if CpuUse.SHARED in cells:
        unheld[pen.chart.cpus] = None
    if any(each.state is DeviceUse.FREE for each in pen.chart.devices) and any(unheld):
        unheld[Unheld.FREE] = None
    rows = [(unheld_class(each), _UNHELD[each]) for each in Unheld if each in unheld and each.value]
    if CpuUse.RESERVED in cells or any(bar.kept_back_bytes for bar in bars):
        rows.append(("kept", "reserved for the system"))
    if any(not part.pod_uid for bar in bars for part in bar.parts):
        rows.append(("joint", "memory of several NUMA nodes together"))
    if any(node.caches for node in pen.chart.nodes):
        rows.append(("cache", "last-level cache"))
    wanted = pen.refused_devices
    if any(each.state is DeviceUse.FREE and each.resource in wanted for each in pen.chart.devices):
        rows.append(("trap", "free, but a pod that asks for it was rejected"))
    return rows


def _centred(picture: Element, words: str, box: Box, css_class: str) -> None:
    svg.add(
        picture, "text", words, css_class=css_class, x=box.left + box.width / 2,
        y=box.top + (box.height + SMALL_PX * 0.72) / 2, text_anchor="middle",
    )  # fmt: skip


_BAR_PX: Final = 4
_ROUND: Final = 8
_HEIGHT_PX: Final = LINE_PX + _BAR_PX + 4


def mark_alike(pen: Pen, group: Element, blocks: Sequence[NumaBlock], place: Box) -> float:
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
    unheld = pen.chart.memory.of_memory
    words = f"memory of NUMA node {block.node_id}" + (unheld and f": {unheld}")
    pen.rect(parent, bar, unheld_class(pen.chart.memory), words)
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
    if distances := distance_words(pen, block.node_id):
        parts.append(distances)
    return "; ".join(parts)
