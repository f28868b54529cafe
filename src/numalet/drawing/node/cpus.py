"""The CPUs of a block: cells of at least 6 px, SMT siblings one above the other; or one bar.

A free CPU is empty, a shared one has a dash, a reserved one stripes. Adjacent CPUs of one holder
have one outline and one label. The cores of a last-level cache are in one frame, if the NUMA node
has several. The numbers at both ends of a row are those of its first and last CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias
from xml.etree.ElementTree import Element

from numalet.core.model import cpu_set
from numalet.core.model.value import Value
from numalet.drawing import svg
from numalet.drawing.node.pen import BAR_PX, LINE_PX, SMALL_PX, Box, Pen, unheld_class
from numalet.insight.maps.node_map import NumaBlock
from numalet.insight.maps.resource_maps import CpuCell, CpuUse
from numalet.wording import numbers

_CELLS_PX: Final = (20, 16, 12, 8, 6)
_HIGHEST_PX: Final = 144
_OPENED_PX: Final = 12
"""Cells of an opened NUMA node may be higher altogether, but not smaller."""
_GAP_PX: Final = 4
_FRAME_PX: Final = 4
"""The room between the frame of a cache and its cells."""

_Core: TypeAlias = tuple[CpuCell, ...]


def mark(pen: Pen, group: Element, blocks: Sequence[NumaBlock], place: Box) -> float:
    """Mark the CPUs of one NUMA node, or of several together; return the lower end."""
    cells = [cell for block in blocks for cell in block.cpus]
    if not cells:
        return place.top
    counted = (f"{words}: {cpus}".rstrip(": ") for words, cpus in _counts(pen, cells).items())
    end = pen.paragraph(group, "; ".join(counted), place)
    below = Box(place.left, end, place.width)
    pool = pen.chart.pool
    if pool.pods and (here := len(pool.cpus.intersection(cell.cpu for cell in cells))):
        pods = numbers.counted(len(pool.pods), "pod")
        shared = f"shared pool: {here} of {len(pool.cpus)} CPUs, {pods}"
        pen.line(group, shared, below, "figure", full=pool.sentence)
        below = Box(place.left, end + LINE_PX, place.width)
    block = blocks[0]
    if len(blocks) == 1 and (pen.cells or block.node_id in pen.opened):
        grid = _grid(block, place.width, is_opened=block.node_id in pen.opened)
        if grid is not None:
            return _cells(pen, group, block, below, grid)
    return _bar(pen, group, block.node_id, cells, below)


def mark_bar(pen: Pen, group: Element, block: NumaBlock, place: Box) -> float:
    """Mark the CPUs of one NUMA node as a bar below their numbers; return the lower end."""
    if not block.cpus:
        return place.top
    words = ", ".join(_counts(pen, block.cpus))
    below = Box(place.left, pen.paragraph(group, words, place), place.width, BAR_PX)
    end = _bar(pen, group, block.node_id, block.cpus, below)
    pen.rect(group, below, "bar", words)
    return end + _GAP_PX


def _use_words(pen: Pen, cell: CpuCell) -> str:
    if cell.use is CpuUse.EXCLUSIVE:
        return f"exclusive to {pen.pod_title(cell.pod_uid)}"
    if cell.use is CpuUse.RESERVED:
        return "reserved"
    return pen.chart.cpus.value or "no pod has it"


def _css_class(pen: Pen, cell: CpuCell) -> str:
    if cell.use is CpuUse.EXCLUSIVE:
        return pen.holder(cell.pod_uid).css_class
    return "kept" if cell.use is CpuUse.RESERVED else unheld_class(pen.chart.cpus)


def _counts(pen: Pen, cells: Sequence[CpuCell]) -> dict[str, str]:
    """Return the words of the heading, each with the CPUs that it counts."""
    of = {use: [cell.cpu for cell in cells if cell.use is use] for use in CpuUse}
    there, unheld = len(cells) - len(of[CpuUse.RESERVED]), of[CpuUse.SHARED]
    total = numbers.counted(there or len(cells), "CPU")
    every = ", all" if (there or len(cells)) > 1 else ""
    word = pen.chart.cpus.value
    if not (word and there):
        listed = cpu_set.text(cell.cpu for cell in cells)
        return {f"{total}{every} reserved" if word else total: listed}
    whole = f"{total}{every} {word}"
    counts = {whole if len(unheld) == there else f"{len(unheld)} of {total} {word}": unheld}
    if kept := of[CpuUse.RESERVED]:
        counts[f"{len(kept)} reserved"] = kept
    return {words: cpu_set.text(cpus) for words, cpus in counts.items()}


class _Grid(Value, kw_only=True):
    """How cells are placed: in frames, each ``columns`` cores wide, beside each other."""

    size_px: int
    threads: int
    columns: int
    pad_px: int
    number_px: float

    @property
    def line_px(self) -> int:
        """The height of a line of cores."""
        return self.threads * self.size_px + _GAP_PX

    @property
    def frame_px(self) -> float:
        cells_px = self.columns * (self.size_px + _GAP_PX) - _GAP_PX
        return cells_px + 2 * (self.number_px + self.pad_px)

    def frames_in(self, width_px: float) -> int:
        """Return how many frames are beside each other."""
        return max(int((width_px + _GAP_PX) // (self.frame_px + _GAP_PX)), 1)

    def height_px(self, cores: Sequence[_Core]) -> int:
        """The height of the frame of these cores, and of the gap below it."""
        return -(-len(cores) // self.columns) * self.line_px + 2 * self.pad_px


def _by_cache(block: NumaBlock) -> list[list[_Core]]:
    if not block.caches:
        return [[*block.cores]]
    return [[core for core in block.cores if core[0].cpu in cache] for cache in block.caches]


def _grid(block: NumaBlock, width_px: float, *, is_opened: bool) -> _Grid | None:
    """Return the grid of the largest cells that limits their height; none if all are too high."""
    parts = _by_cache(block)
    most = max(map(len, parts))
    widest = str(max(cell.cpu for cell in block.cpus))
    pad_px = _FRAME_PX if len(parts) > 1 else 0
    number_px = svg.text_width_px(widest, "small") + 4
    for size_px in _CELLS_PX:
        room_px = width_px - 2 * (number_px + pad_px) + _GAP_PX
        columns = max(min(int(room_px // (size_px + _GAP_PX)), most), 1)
        lines = -(-most // columns)
        grid = _Grid(
            size_px=size_px, threads=max(map(len, block.cores)), columns=-(-most // lines),
            pad_px=pad_px, number_px=number_px,
        )  # fmt: skip
        height_px = -(-len(parts) // grid.frames_in(width_px)) * max(map(grid.height_px, parts))
        if height_px <= _HIGHEST_PX or (is_opened and size_px == _OPENED_PX):
            return grid
    return None


def _cells(pen: Pen, group: Element, block: NumaBlock, place: Box, grid: _Grid) -> float:
    parts = _by_cache(block)
    top, frames = place.top, grid.frames_in(place.width)
    for line in range(0, len(parts), frames):
        of_line = parts[line : line + frames]
        high = max(map(grid.height_px, of_line))
        for at, cores in enumerate(of_line):
            left = place.left + at * (grid.frame_px + _GAP_PX)
            if grid.pad_px:
                listed = cpu_set.text(cell.cpu for core in cores for cell in core)
                words = f"last-level cache of CPUs {listed}"
                frame = Box(left, top, grid.frame_px, high - _GAP_PX)
                pen.rect(group, frame, "cache", words, data_cache=listed)
            below = top + grid.pad_px - (grid.pad_px and _GAP_PX / 2)
            for start in range(0, len(cores), grid.columns):
                row = cores[start : start + grid.columns]
                _row(pen, group, block.node_id, row, left + grid.pad_px, below, grid)
                below += grid.line_px
        top += high
    return top


def _row(
    pen: Pen, group: Element, node_id: int, row: Sequence[_Core], left: float, top: float,
    grid: _Grid,
) -> None:  # fmt: skip
    """Draw a line of cores with its numbers: grounds of runs, cells, cores, labels of runs."""
    cell_left = left + grid.number_px
    runs = [*_runs(pen, row, Box(cell_left, top, 0), grid)]
    for uid, box, words in runs:
        pen.rect(group, box, pen.holder(uid).css_class, words, uid=uid)
    for at, core in enumerate(row):
        at_left = cell_left + at * (grid.size_px + _GAP_PX)
        siblings = cpu_set.text(cell.cpu for cell in core)
        of_core = f" of core {siblings}" if len(core) > 1 else ""
        for above, cell in enumerate(core):
            pen.rect(
                group, Box(at_left, top + above * grid.size_px, grid.size_px, grid.size_px),
                _css_class(pen, cell), f"CPU {cell.cpu}{of_core}: {_use_words(pen, cell)}",
                uid=cell.pod_uid, mark_id=f"n{node_id}-cpu-{cell.cpu}",
                data_cpu=str(cell.cpu), data_use=cell.use.value,
            )  # fmt: skip
        if len(core) > 1:
            frame = Box(at_left, top, grid.size_px, grid.size_px * len(core))
            is_held = all(cell.pod_uid for cell in core)
            pen.rect(group, frame, "seam" if is_held else "bar", f"core of CPUs {siblings}")
    for uid, box, words in runs:
        pen.rect(group, box, "run", words, uid=uid)
        pen.label_in(group, uid, box)
    right = cell_left + len(row) * (grid.size_px + _GAP_PX)
    for thread in range(grid.threads if grid.size_px > SMALL_PX else 1):
        room = grid.size_px if grid.size_px > SMALL_PX else grid.line_px - _GAP_PX
        baseline = top + thread * grid.size_px + (room + SMALL_PX * 0.72) / 2
        ends = [(row[0], cell_left - 4, "end"), (row[-1], right, "start")]
        # The other thread of a core may be offline.
        cpus = [(core[thread], x, anchor) for core, x, anchor in ends if thread < len(core)]
        for cpu, x, anchor in cpus[: len(row)]:
            svg.add(
                group, "text", str(cpu.cpu), css_class="small", x=x, y=baseline,
                text_anchor=anchor, aria_hidden="true",
            )  # fmt: skip


def _runs(
    pen: Pen, row: Sequence[_Core], place: Box, grid: _Grid
) -> Iterator[tuple[str, Box, str]]:
    """Yield adjacent CPUs of one pod in a line of cores: pod, place, words."""
    size_px, at = grid.size_px, 0
    for uids, cores in groupby(row, key=lambda core: tuple(cell.pod_uid for cell in core)):
        some = [*cores]
        left = place.left + at * (size_px + _GAP_PX)
        above = 0
        for uid, of_uid in groupby(uids):
            count = len([*of_uid])
            if uid:
                cpus = [cell.cpu for core in some for cell in core[above : above + count]]
                wide = len(some) * (size_px + _GAP_PX) - _GAP_PX
                box = Box(left, place.top + above * size_px, wide, count * size_px)
                yield uid, box, f"CPUs {cpu_set.text(cpus)}: exclusive to {pen.pod_title(uid)}"
            above += count
        at += len(some)


def _bar(pen: Pen, group: Element, node_id: int, cells: Sequence[CpuCell], place: Box) -> float:
    """Draw how many CPUs each holder has, where cells have no room."""
    parts: dict[tuple[CpuUse, str], list[CpuCell]] = {}
    for cell in cells:
        parts.setdefault((cell.use, cell.pod_uid), []).append(cell)
    uses = (CpuUse.RESERVED, CpuUse.EXCLUSIVE, CpuUse.SHARED)
    left = place.left
    lettered = pen.by_letter(parts.items(), lambda item: item[0][1])
    for (use, uid), of_part in sorted(lettered, key=lambda item: uses.index(item[0][0])):
        wide = place.width * len(of_part) / len(cells)
        box = Box(left, place.top, wide, BAR_PX)
        listed = cpu_set.text(cell.cpu for cell in of_part)
        words = f"{numbers.counted(len(of_part), 'CPU')} {_use_words(pen, of_part[0])}: {listed}"
        pen.rect(
            group, box, _css_class(pen, of_part[0]), words, uid=uid,
            mark_id=f"n{node_id}-cpus-{uid or use.value}", data_cpus=listed, data_use=use.value,
        )  # fmt: skip
        pen.label_in(group, uid, box)
        left += wide
    return place.top + BAR_PX
