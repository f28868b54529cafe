"""The layout of blocks, and the drawing in words: sections by socket, equal nodes as one block.

The width of a block is proportional to its memory, rounded to two digits so that similar nodes are
aligned, and at least ``NARROWEST_PX``. All blocks of a drawing have one scale: the largest at which
no section needs more rows than with narrow blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from numalet.core.model import cpu_set, numa_mask, resources
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import Value
from numalet.insight.maps import accelerator_memory
from numalet.insight.maps.map_devices import DeviceUse
from numalet.insight.maps.node_map import NodeMap, NumaBlock, Unheld
from numalet.insight.maps.resource_maps import CpuUse
from numalet.wording import numbers

GAP_PX: Final = 12
NARROWEST_PX: Final = 180
_WIDEST_PX: Final = 760
MINI_PX: Final = 44
"""The width of the mark of one of several equal NUMA nodes."""
MINI_GAP_PX: Final = 4
_FOLDED_PX: Final = 376
_MANY_NODES: Final = 32
_FEWEST_FOLDED: Final = 3


class Tile(Value):
    """One block of a drawing: a NUMA node, or several equal ones without allocations."""

    blocks: tuple[NumaBlock, ...]

    @property
    def node_ids(self) -> tuple[int, ...]:
        return tuple(each.node_id for each in self.blocks)

    @property
    def total_bytes(self) -> int:
        """All memory of its NUMA nodes, huge pages included."""
        return sum(bar.total_bytes for each in self.blocks for bar in each.memory)


class Section(Value):
    """Tiles under one heading; a single section needs no heading."""

    heading: str
    tiles: tuple[Tile, ...]


def sections(chart: NodeMap, opened: Collection[int]) -> tuple[Section, ...]:
    """Return all NUMA nodes, by socket if one has several; those of ``opened`` are not folded."""
    empty = [each for each in chart.nodes if _has_nothing(each)]
    empty_tiles = [*_folded(chart, empty, opened, fewest=2)] if len(empty) > 1 else []
    # Nodes without memory and CPUs have no socket; they are folded into blocks at the end.
    rest = [each for each in chart.nodes if not (empty_tiles and _has_nothing(each))]
    places: dict[tuple[int, ...], list[NumaBlock]] = {}
    for each in rest:
        places.setdefault(_sockets(chart, each), []).append(each)
    result = []
    if all(len(of_place) == 1 for of_place in places.values()):
        result.append(Section("", (*_tiles(chart, rest, opened), *empty_tiles)))
        return tuple(result)
    result += [
        Section(_heading(place), tuple(_tiles(chart, places[place], opened)))
        for place in sorted(places, key=lambda place: (not place, place))
    ]
    if empty_tiles:
        result.append(Section("Without memory and CPUs", tuple(empty_tiles)))
    return tuple(result)


def rows(tiles: Sequence[Tile], width_px: int, px_per_byte: float) -> list[list[tuple[Tile, int]]]:
    """Return the tiles with their widths in px, line by line."""
    lines: list[list[tuple[Tile, int]]] = [[]]
    used = 0
    for tile in tiles:
        width = _tile_width(tile, width_px, px_per_byte)
        if lines[-1] and used + width > width_px:
            lines.append([])
            used = 0
        lines[-1].append((tile, width))
        used += width + GAP_PX
    return lines


def scale(of: Iterable[Section], width_px: int) -> float:
    parts = [section.tiles for section in of]
    largest = max((tile.total_bytes for tiles in parts for tile in tiles), default=0)
    if not largest:
        return 0.0
    # The number of rows with the narrowest blocks, which the scale must not exceed.
    fewest = [len(rows(tiles, width_px, 0.0)) for tiles in parts]
    low, high = 0.0, min(_WIDEST_PX, width_px) / largest
    # 24 halvings are more precise than a pixel.
    for _ in range(24):
        middle = (low + high) / 2
        fits = all(
            len(rows(tiles, width_px, middle)) <= count
            for tiles, count in zip(parts, fewest, strict=True)
        )
        low, high = (middle, high) if fits else (low, middle)
    return low


def is_folded(tile: Tile) -> bool:
    return len(tile.blocks) > 1


def _tile_width(tile: Tile, width_px: int, px_per_byte: float) -> int:
    if is_folded(tile):
        if not tile.total_bytes:
            return width_px
        in_one_line = len(tile.blocks) * (MINI_PX + MINI_GAP_PX) + 2 * GAP_PX
        return min(max(_FOLDED_PX, in_one_line), width_px)
    to_scale = int(float(_about(tile.total_bytes)) * px_per_byte) // 4 * 4
    return min(max(to_scale, NARROWEST_PX), width_px)


def _has_nothing(block: NumaBlock) -> bool:
    return block.node_class is NodeClass.EMPTY and not block.cores


def _sockets(chart: NodeMap, block: NumaBlock) -> tuple[int, ...]:
    host = accelerator_memory.nearest_host(chart, block)
    return block.sockets if host is None else host.sockets


def _heading(sockets: tuple[int, ...]) -> str:
    if not sockets:
        return "At no socket that is known"
    noun = "Socket" if len(sockets) == 1 else "Sockets"
    return f"{noun} {numa_mask.listed(sockets)}"


def _tiles(chart: NodeMap, blocks: Sequence[NumaBlock], opened: Collection[int]) -> Iterator[Tile]:
    if len(chart.nodes) > _MANY_NODES:
        yield from _folded(chart, blocks, opened, fewest=_FEWEST_FOLDED)
    else:
        yield from (Tile((each,)) for each in blocks)


def _folded(
    chart: NodeMap, blocks: Sequence[NumaBlock], opened: Collection[int], fewest: int
) -> Iterator[Tile]:
    """Yield tiles by their first NUMA node; at least ``fewest`` equal ones become one."""
    held = {node_id for group in chart.groups for node_id in group.nodes}
    held |= {
        node_id
        for device in chart.devices
        if device.state is not DeviceUse.FREE
        for node_id in device.nodes
    }
    alike: dict[object, list[NumaBlock]] = {}
    for each in blocks:
        # Never fold a node that is opened, or that holds something worth showing.
        is_single = each.node_id in opened or each.node_id in held or not _is_untouched(each)
        alike.setdefault(each.node_id if is_single else _kind(chart, each), []).append(each)
    tiles = [
        tile
        for same in alike.values()
        for tile in (
            [Tile(tuple(same))] if len(same) >= fewest else [Tile((each,)) for each in same]
        )
    ]
    yield from sorted(tiles, key=lambda tile: tile.node_ids)


def _is_untouched(block: NumaBlock) -> bool:
    return not any(bar.parts for bar in block.memory) and not any(
        cell.use is CpuUse.EXCLUSIVE for cell in block.cpus
    )


def _kind(chart: NodeMap, block: NumaBlock) -> object:
    """Return a key that is equal for similar NUMA nodes, whose sizes always differ a little."""
    return (
        block.node_class,
        len(block.cpus),
        sum(cell.use is CpuUse.RESERVED for cell in block.cpus),
        tuple(
            (bar.resource, _about(bar.total_bytes), _about(bar.free_bytes)) for bar in block.memory
        ),
        tuple(each.resource for each in chart.devices if block.node_id in each.nodes),
    )


def _about(size_bytes: int) -> str:
    return f"{size_bytes:.2g}"


_CLASSES = {
    NodeClass.CPU: "",
    NodeClass.MEMORY: "accelerator or CXL memory",
    NodeClass.EMPTY: "",
}


def summary(chart: NodeMap) -> str:
    return " ".join(_sentences(chart))


def class_words(block: NumaBlock) -> str:
    """Return the kind of NUMA node; empty for the ordinary kind."""
    return _CLASSES[block.node_class]


def tile_title(tile: Tile) -> str:
    if not is_folded(tile):
        return f"NUMA node {tile.node_ids[0]}"
    what = "without memory" if tile.blocks[0].node_class is NodeClass.EMPTY else "alike"
    return f"{len(tile.blocks)} NUMA nodes {what}: {cpu_set.text(tile.node_ids).replace(',', ', ')}"


def _sentences(chart: NodeMap) -> Iterator[str]:
    cells = [cell for node in chart.nodes for cell in node.cpus]
    sockets = f" on {numbers.counted(chart.socket_count, 'socket')}" if chart.socket_count else ""
    yield f"{numbers.counted(len(chart.nodes), 'NUMA node')}{sockets}."
    count = {use: sum(cell.use is use for cell in cells) for use in CpuUse}
    if chart.cpus is Unheld.NO_KUBELET:
        yield f"{numbers.counted(len(cells), 'CPU')}."
    else:
        yield (
            f"Of {numbers.counted(len(cells), 'CPU')}, {count[CpuUse.SHARED]} {chart.cpus.value}, "
            f"{count[CpuUse.EXCLUSIVE]} exclusive, {count[CpuUse.RESERVED]} reserved."
        )
    free = {node.node_id: _free_bytes(node) for node in chart.nodes}
    bars = [bar for node in chart.nodes for bar in node.memory if bar.resource == resources.MEMORY]
    shown = numbers.rounded_size
    if chart.memory is not Unheld.FREE:
        words = chart.memory.of_memory
        total = sum(bar.total_bytes for bar in bars)
        yield f"Memory: {shown(total)}{words and f', {words}'}."
    else:
        total = sum(bar.allocatable_bytes for bar in bars)
        yield f"Memory: {shown(sum(free.values()))} of {shown(total)} free."
    if len(free) > 1 and total and chart.memory is Unheld.FREE:
        most = max(free, key=lambda node_id: (free[node_id], -node_id))
        yield f"Most free memory is on NUMA node {most}: {shown(free[most])}."
    for group in chart.groups:
        nodes = numa_mask.listed(group.nodes)
        yield f"NUMA nodes {nodes} are one group of {numbers.counted(len(group.pod_uids), 'pod')}."
    if chart.devices:
        used = sum(each.state is DeviceUse.IN_USE for each in chart.devices)
        broken = sum(each.state is DeviceUse.UNHEALTHY for each in chart.devices)
        bad = f", {broken} unhealthy" if broken else ""
        yield f"{numbers.counted(len(chart.devices), 'device')}, {used} in use{bad}."
    yield f"{numbers.counted(len(chart.pods), 'pod')} with something reserved for them."


def _free_bytes(node: NumaBlock) -> int:
    return sum(bar.free_bytes for bar in node.memory if bar.resource == resources.MEMORY)
