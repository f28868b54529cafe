"""Pools of a fleet as heat maps: a node is a cell, divided into its NUMA nodes.

The darker a part, the more of it is used, as in a bar. A trap node has a triangle, a node where the
pod in question fits has a disc, an undecided node is dotted, a node that gets no new pods is
crossed, one without the resource is empty with a line, and one that does not allocate it per NUMA
node is dashed and undivided. Cells are links, and smaller for larger pools, so that 5,000 nodes fit
in one picture. A cell that stands for several nodes shows their number, and is wider the more they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model.value import Value
from numalet.drawing import sheets, svg
from numalet.wording import explanations, numbers

_LARGEST_PX: Final = 24
_SMALLEST_PX: Final = 8
_FEW_CELLS: Final = 200
_MANY_CELLS: Final = 1500
_SHADES: Final = 5
_HEADING_PX: Final = 28
_LEGEND_LINE_PX: Final = 20
_LEGEND_GAP_PX: Final = 8
_POOL_GAP_PX: Final = 16

_STYLE: Final = (
    "".join(
        f"svg.heat .shade-{at}{{fill:color-mix(in srgb,var(--accent) {share}%,var(--surface))}}"
        for at, share in enumerate((0, 25, 50, 75, 100))
    )
    + "svg.heat .unknown{fill:url(#numalet-unknown)}"
    "svg.heat .dot{fill:var(--ink-2)}"
    "svg.heat .trap{fill:var(--bad);stroke:var(--paper);stroke-width:1}"
    "svg.heat .closed{stroke:var(--ink);stroke-width:1.5}"
    "svg.heat .fits{fill:var(--good);stroke:var(--paper);stroke-width:1}"
    "svg.heat .absent{stroke:var(--ink-2)}"
    "svg.heat .frame{fill:none;stroke:var(--line)}"
    "svg.heat .frame.whole{stroke:var(--kept);stroke-dasharray:3 2}"
    "svg.heat a:hover .frame{stroke:var(--ink);stroke-width:2}"
    "svg.heat a:focus-visible .frame{stroke:var(--accent);stroke-width:2}"
)


class HeatCell(Value, kw_only=True):
    """One node, or ``count`` nodes that are drawn alike.

    ``free_by_numa_node`` is by ascending id, without NUMA nodes that never have the resource: empty
    if none has it, None if nothing is known. ``whole`` is set instead of it if the resource is not
    allocated per NUMA node: what is free on the node, and in all. ``words`` follow its name and
    figures; ``href`` is its link, or empty.
    """

    name: str
    free_by_numa_node: tuple[int, ...] | None
    whole: tuple[int, int] | None = None
    is_trap: bool = False
    is_fitting: bool = False
    """Whether the pod in question fits there."""
    is_closed: bool = False
    """Whether it gets no new pods, so that its free amount is unusable."""
    count: int = 1
    words: str = ""
    href: str = ""


class HeatPool(Value, kw_only=True):
    """Nodes of one kind; ``most_per_numa_node`` is the free amount of an empty NUMA node."""

    name: str
    cells: tuple[HeatCell, ...]
    most_per_numa_node: int


def draw(pools: Sequence[HeatPool], resource: str, *, width_px: int = 960) -> str:
    """Draw all pools below one another. ``resource`` is the unit, such as ``free GPUs``."""
    cells = [cell for pool in pools for cell in pool.cells]
    cell_px = _cell_px(len(cells))
    most = max((sum(cell.count for cell in pool.cells) for pool in pools), default=1)
    placed = [_placed(each.cells, cell_px, width_px, width_px / max(most, 1)) for each in pools]
    heights = [_pool_height(each, cell_px) for each in placed]
    legend = _legend_entries(resource, width_px, cells)
    legend_px = (legend[-1].row + 1) * _LEGEND_LINE_PX + _LEGEND_GAP_PX
    height_px = legend_px + sum(heights)
    picture = sheets.picture(
        width_px, height_px, f"{resource} per NUMA node", main_fact(pools), "heat", _STYLE
    )
    # Cells are links, and elements of an image cannot have the focus.
    picture.set("role", "group")
    _dots(picture)
    _legend(picture, legend)
    top_px = legend_px
    for pool, places, pool_px in zip(pools, placed, heights, strict=True):
        group = svg.add(picture, "g", transform=f"translate(0 {top_px})", data_pool=pool.name)
        _pool(group, pool, resource, places, cell_px, width_px)
        top_px += pool_px
    return svg.text_of(picture)


def main_fact(pools: Sequence[HeatPool]) -> str:
    """Say in one sentence how many nodes, traps and undecided nodes there are."""
    cells = [cell for pool in pools for cell in pool.cells]
    return f"{numbers.counted(len(pools), 'pool')}: {_counts(cells)}"


def _counts(cells: Sequence[HeatCell]) -> str:
    """Count nodes, and never the cells that stand for several of them."""
    traps = sum(cell.count for cell in cells if cell.is_trap)
    unknown = sum(cell.count for cell in cells if cell.free_by_numa_node is None)
    closed = sum(cell.count for cell in cells if cell.is_closed)
    fitting = sum(cell.count for cell in cells if cell.is_fitting)
    parts = [numbers.counted(sum(cell.count for cell in cells), "node")]
    parts += [numbers.counted(traps, "trap")] if traps else []
    parts += [f"the pod fits on {fitting}"] if fitting else []
    parts += [f"{unknown} not known"] if unknown else []
    parts += [f"{closed} without new pods"] if closed else []
    return ", ".join(parts)


def _cell_px(count: int) -> int:
    if count <= _FEW_CELLS:
        return _LARGEST_PX
    return 16 if count <= _MANY_CELLS else 12 if count <= 2 * _MANY_CELLS else _SMALLEST_PX


def _gap_px(cell_px: int) -> int:
    return 4 if cell_px > _SMALLEST_PX else 2


class _Place(Value):
    """Where a cell is: its left end, its row, the width of its drawn part and of its number."""

    left_px: float
    row: int
    part_px: float
    label_px: float


def _placed(cells: Sequence[HeatCell], cell_px: int, width_px: int, node_px: float) -> list[_Place]:
    """Put cells into rows; ``node_px`` is the width of one node in a cell of many."""
    sizes: list[tuple[float, float]] = []
    for cell in cells:
        label_px = svg.text_width_px(str(cell.count)) + 6 if cell.count > 1 else 0
        # One scale for all pools, but no cell is too narrow to be seen.
        part_px = max(cell_px, cell.count * node_px - label_px) if label_px else cell_px
        sizes.append((min(part_px, width_px - label_px), label_px))
    gap_px = _gap_px(cell_px)
    places = sheets.in_rows([(part_px + label_px, gap_px) for part_px, label_px in sizes], width_px)
    return [
        _Place(left_px, row, part_px, label_px)
        for (left_px, row), (part_px, label_px) in zip(places, sizes, strict=True)
    ]


def _pool_height(places: Sequence[_Place], cell_px: int) -> int:
    rows = places[-1].row + 1 if places else 0
    return _HEADING_PX + rows * (cell_px + _gap_px(cell_px)) + _POOL_GAP_PX


def _dots(picture: Element) -> None:
    definitions = svg.add(picture, "defs")
    pattern = svg.add(
        definitions, "pattern", id="numalet-unknown", width=4, height=4,
        patternUnits="userSpaceOnUse",
    )  # fmt: skip
    svg.add(pattern, "circle", css_class="dot", cx=2, cy=2, r=0.8)


class _Entry(Value):
    """A mark of the legend, what it means, and where it is."""

    css_class: str
    words: str
    left_px: float
    row: int


def _legend_entries(resource: str, width_px: int, cells: Sequence[HeatCell]) -> list[_Entry]:
    """Return the shades from all free to none free and the marks, in as many lines as they need."""
    between = [(f"shade-{at}", "") for at in range(1, _SHADES - 2)]
    entries = [("shade-0", f"all {resource}"), *between, (f"shade-{_SHADES - 2}", "some")]
    entries += [(f"shade-{_SHADES - 1}", "none"), ("trap", "trap"), ("unknown", "not known")]
    if any(cell.is_fitting for cell in cells):
        entries.append(("fits", "the pod fits"))
    if any(cell.is_closed for cell in cells):
        entries.append(("closed", "cordoned or not ready"))
    if any(cell.free_by_numa_node == () for cell in cells):
        entries.append(("absent", "has none of it"))
    if any(cell.whole is not None for cell in cells):
        entries.append(("whole", explanations.NOT_PER_NUMA_NODE))
    # Shades without words of their own are close together.
    sizes = [(20 + svg.text_width_px(words), 16) if words else (12, 2) for _, words in entries]
    return [
        _Entry(css_class, words, left_px, row)
        for (css_class, words), (left_px, row) in zip(
            entries, sheets.in_rows(sizes, width_px), strict=True
        )
    ]


def _legend(picture: Element, entries: Sequence[_Entry]) -> None:
    group = svg.add(picture, "g", css_class="legend")
    for entry in entries:
        css_class, left_px, top_px = entry.css_class, entry.left_px, entry.row * _LEGEND_LINE_PX + 4
        if css_class == "trap":
            _triangle(group, left_px, top_px, 12)
        elif css_class == "fits":
            svg.add(group, "circle", css_class=css_class, cx=left_px + 6, cy=top_px + 6, r=5)
        else:
            if css_class == "closed":
                _crossed(group, left_px, top_px, 12, 12)
            elif css_class == "absent":
                _lined(group, left_px, top_px, 12, 12)
            else:
                shade = "shade-2" if css_class == "whole" else css_class
                svg.add(group, "rect", css_class=shade, x=left_px, y=top_px, width=12, height=12)
            frame = "frame whole" if css_class == "whole" else "frame"
            svg.add(group, "rect", css_class=frame, x=left_px, y=top_px, width=12, height=12)
        if entry.words:
            svg.add(group, "text", entry.words, x=left_px + 20, y=top_px + 11)


def _pool(
    group: Element,
    pool: HeatPool,
    resource: str,
    places: Sequence[_Place],
    cell_px: int,
    width_px: int,
) -> None:
    counts = _counts(pool.cells)
    is_known = any(cell.free_by_numa_node is not None for cell in pool.cells)
    if is_known and not pool.most_per_numa_node and not any(cell.whole for cell in pool.cells):
        counts += f", no {resource}"
    room_px = width_px - svg.text_width_px(counts) - 12
    name = svg.shortened_text(pool.name, room_px, is_bold=True)
    svg.add(group, "text", name, css_class="strong", x=0, y=16)
    svg.add(group, "text", counts, css_class="quiet end", x=width_px, y=16)
    for cell, place in zip(pool.cells, places, strict=True):
        _cell(group, cell, pool, resource, place, cell_px)


def _cell(
    group: Element, cell: HeatCell, pool: HeatPool, resource: str, place: _Place, cell_px: int
) -> None:
    if cell.href:
        mark = svg.add(group, "a", href=cell.href, data_node=cell.name)
    else:
        mark = svg.add(group, "g", data_node=cell.name)
    svg.named(mark, _title(cell, resource))
    left_px, wide_px = place.left_px, place.part_px
    top_px = _HEADING_PX + place.row * (cell_px + _gap_px(cell_px))
    free, most = cell.free_by_numa_node, pool.most_per_numa_node
    if cell.whole is not None:
        free, most = cell.whole[:1], cell.whole[1]
    if free is None:
        svg.add(
            mark, "rect", css_class="unknown", x=left_px, y=top_px, width=wide_px, height=cell_px
        )
    elif not free:
        _lined(mark, left_px, top_px, wide_px, cell_px)
    across, down = _division(len(free or ()))
    for at, count in enumerate(free or ()):
        svg.add(
            mark, "rect", css_class=f"shade-{_shade(count, most)}",
            x=left_px + at % across * wide_px / across, y=top_px + at // across * cell_px / down,
            width=wide_px / across, height=cell_px / down,
        )  # fmt: skip
    frame_px = wide_px + place.label_px
    svg.add(
        mark, "rect", css_class="frame" if cell.whole is None else "frame whole",
        x=left_px + 0.5, y=top_px + 0.5, width=frame_px - 1, height=cell_px - 1,
    )  # fmt: skip
    if place.label_px:
        baseline_px = top_px + cell_px / 2 + 4
        svg.add(mark, "text", str(cell.count), x=left_px + wide_px + 3, y=baseline_px)
    if cell.is_closed:
        _crossed(mark, left_px, top_px, wide_px, cell_px)
    if cell.is_fitting:
        radius_px = max(cell_px / 4, 3)
        svg.add(
            mark, "circle", css_class="fits", cx=left_px + radius_px + 1, cy=top_px + radius_px + 1,
            r=radius_px,
        )  # fmt: skip
    if cell.is_trap:
        size_px = max(cell_px / 2, 6)
        _triangle(mark, left_px + wide_px - size_px, top_px + cell_px - size_px, size_px)


def _crossed(
    parent: Element, left_px: float, top_px: float, wide_px: float, high_px: float
) -> None:
    right_px, bottom_px = left_px + wide_px, top_px + high_px
    for start_px, end_px in ((left_px, right_px), (right_px, left_px)):
        svg.add(
            parent, "line", css_class="closed", x1=start_px, y1=top_px, x2=end_px, y2=bottom_px
        )  # fmt: skip


def _lined(parent: Element, left_px: float, top_px: float, wide_px: float, high_px: float) -> None:
    middle_px, quarter_px = top_px + high_px / 2, wide_px / 4
    svg.add(
        parent, "line", css_class="absent", x1=left_px + quarter_px, y1=middle_px,
        x2=left_px + wide_px - quarter_px, y2=middle_px,
    )  # fmt: skip


def _triangle(parent: Element, left_px: float, top_px: float, size_px: float) -> None:
    points = ((left_px, top_px + size_px), (left_px + size_px, top_px + size_px))
    corners = (*points, (left_px + size_px / 2, top_px))
    svg.add(
        parent, "polygon", css_class="trap",
        points=" ".join(f"{svg.number(x)},{svg.number(y)}" for x, y in corners),
    )  # fmt: skip


def _division(count: int) -> tuple[int, int]:
    """Return columns and rows of the parts of a cell: one row up to three, else a square."""
    if count <= 3:
        return count, 1
    across = next(each for each in range(2, count + 1) if each * each >= count)
    return across, -(-count // across)


def _shade(count: int, most: int) -> int:
    """Return 0 if all of it is free, to 4 if nothing is free."""
    if count >= most:
        return 0
    if count <= 0:
        return _SHADES - 1
    # A part that is used in part has neither end of the scale.
    return min(_SHADES - 2, max(1, (most - count) * (_SHADES - 1) // most))


def _title(cell: HeatCell, resource: str) -> str:
    if cell.whole is not None:
        free, total = cell.whole
        figures = f"{free} of {total} {resource}, {explanations.NOT_PER_NUMA_NODE}"
    elif cell.free_by_numa_node is None:
        figures = "not known"
    else:
        by_node = ", ".join(map(str, cell.free_by_numa_node))
        figures = f"{resource} by NUMA node: {by_node}" if by_node else "has none of it"
    more = f"and {numbers.counted(cell.count - 1, 'node')} alike" if cell.count > 1 else ""
    marks = ["trap" if cell.is_trap else "", "the pod fits" if cell.is_fitting else ""]
    parts = [cell.name, *marks, figures, cell.words, more]
    return "; ".join(part for part in parts if part)
