"""The drawing of a node: a block per NUMA node, with its CPUs, memory and devices.

``draw`` is the whole procedure: the legend, sections of blocks by socket, devices of several NUMA
nodes, distances. Each part is drawn from the top down and returns its lower end.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model import numa_mask
from numalet.drawing import svg
from numalet.drawing.node import cpus, devices, holders, layout, margins, memory
from numalet.drawing.node.layout import GAP_PX, Section, Tile
from numalet.drawing.node.pen import LINE_PX, PAD_PX, STYLE, Box, Link, Pen, add_patterns
from numalet.insight.maps import accelerator_memory, finding
from numalet.insight.maps.finding import SearchResult
from numalet.insight.maps.node_map import NodeMap
from numalet.wording import numbers

_MOST_CELLS: Final = 256
"""With more CPUs on the machine, blocks have bars instead of cells."""
_MOST_NAMED: Final = 3
_MOST_ABOVE: Final = 12
"""More pods are listed below the blocks instead of above them."""
_NARROWEST_DRAWING_PX: Final = 240


def draw(
    chart: NodeMap,
    *,
    width_px: int = 960,
    opened: Collection[int] = (),
    prefix: str = "",
    link: Link | None = None,
    found: SearchResult = finding.NOTHING,
) -> str:
    """Draw this node, 400 to 1,600 px wide, as high as necessary.

    Args:
        chart: the map to draw.
        width_px: the width, at least 240.
        opened: NUMA nodes that are shown with all their CPUs, and never folded.
        prefix: the prefix of all ids, so that several drawings can be on one page.
        link: the address of the page that shows the drawing with other NUMA nodes opened; without
            it there are no links.
        found: what gets a ring around it; its NUMA nodes are opened if their CPUs are not visible.
    """
    width = max(width_px, _NARROWEST_DRAWING_PX)
    has_cells = sum(len(node.cpus) for node in chart.nodes) <= _MOST_CELLS
    pen = Pen(
        chart=chart,
        holders=holders.by_uid(chart),
        pods={pod.uid: pod for pod in chart.pods},
        prefix=prefix,
        opened=frozenset(opened) | (found.nodes if found.cpus and not has_cells else frozenset()),
        link=link,
        cells=has_cells,
    )
    picture = empty_picture(pen, width)
    top = margins.legend(pen, picture, width)
    is_above = 0 < len(pen.holders) <= _MOST_ABOVE
    if is_above:
        top = margins.legend_of_holders(pen, picture, top, width)
    if chart.refused:
        top = margins.refusals(pen, picture, top, width)
    parts = layout.sections(chart, pen.opened)
    inner = width - 2 * PAD_PX if parts and parts[0].heading else width
    scale = layout.scale(parts, inner)
    for section in parts:
        top = _section(pen, picture, section, Box(0, top, width), scale) + GAP_PX
    if others := devices.elsewhere(pen):
        heading = "Devices at several or unknown NUMA nodes"
        pen.line(picture, heading, Box(0, top, width), "heading")
        top = devices.mark(pen, picture, others, Box(0, top + 20, width)) + GAP_PX
    if chart.pool.cpus:
        top = margins.shared_pool(pen, picture, top, width) + GAP_PX
    if pen.holders and not is_above:
        top = margins.legend_of_holders(pen, picture, top, width) + GAP_PX
    if margins.has_distances(pen):
        top = margins.distances(pen, picture, top, width) + GAP_PX
    margins.mark_result(picture, found)
    height = svg.number(max(top - GAP_PX + 1, 1))
    picture.set("height", height)
    picture.set("viewBox", f"-1 -1 {width + 2} {svg.number(float(height) + 2)}")
    return svg.text_of(picture)


def empty_picture(pen: Pen, width_px: int) -> Element:
    """Return the root: a group with a name and a summary, because an image cannot have links."""
    picture = svg.root(width_px, 0, pen.chart.title, STYLE, "node")
    picture.set("role", "group")
    picture.set("aria-labelledby", f"{pen.prefix}node-title")
    picture.set("aria-describedby", f"{pen.prefix}node-summary")
    picture[0].set("id", f"{pen.prefix}node-title")
    summary = layout.summary(pen.chart)
    description = svg.add(picture, "desc", summary, id=f"{pen.prefix}node-summary")
    picture.remove(description)
    picture.insert(1, description)
    add_patterns(picture, pen.prefix)
    return picture


def _section(pen: Pen, picture: Element, section: Section, place: Box, scale: float) -> float:
    """Draw one section with its blocks in rows; the blocks of a row are equally high."""
    left, width, top, frame = place.left, place.width, place.top, None
    if section.heading:
        frame = svg.add(
            picture, "rect", css_class="section", x=left, y=top, width=width, height=0, rx=4
        )
        heading = Box(left + PAD_PX, top + 4, width - 2 * PAD_PX)
        pen.line(picture, section.heading, heading, "heading")
        left, width, top = left + PAD_PX, width - 2 * PAD_PX, top + 24
    for row in layout.rows(section.tiles, int(width), scale):
        outlines, end, at = [], top, left
        for tile, wide in row:
            outline, its_end = _tile(pen, picture, tile, Box(at, top, wide), bool(section.heading))
            outlines.append(outline)
            end = max(end, its_end)
            at += wide + GAP_PX
        for outline in outlines:
            outline.set("height", svg.number(float(end - top)))
        top = end + GAP_PX
    if frame is not None:
        frame.set("height", svg.number(float(top - GAP_PX + PAD_PX - place.top)))
        return top - GAP_PX + PAD_PX
    return top - GAP_PX


def _tile(
    pen: Pen, picture: Element, tile: Tile, place: Box, has_heading: bool
) -> tuple[Element, float]:
    """Draw one block; return its outline, whose height is set later, and its lower end."""
    first = tile.blocks[0]
    its_group = memory.group_of(pen, first.node_id)
    group = svg.add(picture, "g", id=f"{pen.prefix}n{first.node_id}", data_node=first.node_id)
    outline = svg.add(
        group, "rect", css_class="block grouped" if its_group else "block", x=place.left,
        y=place.top, width=place.width, rx=4,
    )  # fmt: skip
    title = layout.tile_title(tile)
    distances = margins.distance_words(pen, first.node_id)
    svg.named(outline, f"{title}; {distances}" if distances else title)
    width = place.width - 2 * PAD_PX
    inner = Box(place.left + PAD_PX, place.top + 4, width, 20)
    _heading(pen, group, tile, inner)
    top = inner.top + 20
    for line in _lines(pen, tile, has_heading):
        pen.line(group, line, Box(inner.left, top, width))
        top += LINE_PX
    if layout.is_folded(tile) and tile.total_bytes:
        top = margins.mark_alike(pen, group, tile.blocks, Box(inner.left, top + 4, width)) + 4
    top = devices.mark_owners(pen, group, first, Box(inner.left, top, width))
    top = cpus.mark(pen, group, tile.blocks, Box(inner.left, top, width))
    top = memory.mark(pen, group, tile.blocks, Box(inner.left, top + 4, width))
    attached = [each for block in tile.blocks for each in devices.of_node(pen, block)]
    top = devices.mark(pen, group, attached, Box(inner.left, top, width))
    for uid, line in _of_group(pen, first.node_id):
        pen.line(group, line, Box(inner.left, top, width), "figure", uid=uid)
        top += LINE_PX
    return outline, top + 4


def _heading(pen: Pen, group: Element, tile: Tile, place: Box) -> None:
    """Draw the name of a block, its memory at the right, and the link that opens or closes it."""
    size = numbers.rounded_size(tile.total_bytes) if tile.total_bytes else ""
    size_px = svg.text_width_px(size, "small")
    title = layout.tile_title(tile)
    if svg.text_width_px(title, is_bold=True) + size_px + 8 > place.width:
        size, size_px = "", -8.0
    if size:
        full = f"{size} of memory, huge pages included"
        box = Box(place.left + place.width - size_px, place.top, size_px + 1, place.height)
        pen.line(group, size, box, "small", full=full)
    room = Box(place.left, place.top, place.width - size_px - 8, place.height)
    if pen.link is None or (pen.cells and len(tile.blocks) == 1 and not _is_open(pen, tile)):
        pen.line(group, title, room, "heading")
        return
    ids = frozenset(tile.node_ids)
    is_open = _is_open(pen, tile)
    address = pen.link(pen.opened - ids if is_open else pen.opened | ids)
    anchor = svg.add(group, "a", href=address)
    act = "close" if is_open else "open"
    pen.line(anchor, title, room, "heading", full=f"{title}: {act}")


def _is_open(pen: Pen, tile: Tile) -> bool:
    return bool(pen.opened.intersection(tile.node_ids))


def _lines(pen: Pen, tile: Tile, has_heading: bool) -> list[str]:
    """Return the kind of NUMA node, and its socket if no section names it."""
    first = tile.blocks[0]
    lines = []
    if first.sockets and not has_heading and pen.chart.socket_count > 1:
        sockets = sorted({socket for each in tile.blocks for socket in each.sockets})
        noun = "socket" if len(sockets) == 1 else "sockets"
        lines.append(f"{noun} {numa_mask.listed(sockets)}")
    is_owned = bool(accelerator_memory.owners(pen.chart, first))
    if not is_owned and (about := layout.class_words(first)):
        lines.append(about)
    if len(tile.blocks) > 1 and tile.total_bytes:
        each = numbers.rounded_size(tile.total_bytes // len(tile.blocks))
        lines.append(f"about {each} each, nothing on them is held")
    return [", ".join(lines)] if lines else []


def _of_group(pen: Pen, node_id: int) -> list[tuple[str, str]]:
    """Return lines about the memory group of a NUMA node, each with the pod that it names."""
    group = memory.group_of(pen, node_id)
    if group is None:
        return []
    others = numa_mask.listed(each for each in group.nodes if each != node_id)
    lines = [
        (uid, f"one group with {others}: {pen.pod_title(uid)}")
        for uid in group.pod_uids[:_MOST_NAMED]
    ]
    if (more := len(group.pod_uids) - _MOST_NAMED) > 0:
        lines.append(("", f"and {numbers.counted(more, 'pod')} more"))
    return lines or [("", f"one group with {others}")]
