"""The drawing of a node in words, for screen readers, and for blocks."""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.model import cpu_set, numa_mask, resources
from numalet.core.model.machine_queries import NodeClass
from numalet.drawing.node.layout import Tile, is_folded
from numalet.insight.maps.node_map import DeviceUse, NodeMap, NumaBlock
from numalet.insight.maps.resource_maps import CpuUse
from numalet.wording import numbers

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
    unheld = "free" if chart.gives_out_cpus else "shared"
    yield (
        f"Of {numbers.counted(len(cells), 'CPU')}, {count[CpuUse.SHARED]} {unheld}, "
        f"{count[CpuUse.EXCLUSIVE]} exclusive, {count[CpuUse.RESERVED]} reserved."
    )
    free = {node.node_id: _free_bytes(node) for node in chart.nodes}
    total = sum(
        bar.total_bytes for node in chart.nodes for bar in node.memory
        if bar.resource == resources.MEMORY
    )  # fmt: skip
    shown = numbers.rounded_size
    yield f"Memory: {shown(sum(free.values()))} free of {shown(total)}."
    if len(free) > 1 and total:
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
