"""Rows of the start page: free resources, and the largest allocations. Sizes are in bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from numalet.core.model import cpu_set, numa_mask, resources
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.core.node import largest_request
from numalet.core.node.node import Node
from numalet.dashboard.sources import NodeView
from numalet.insight.explain import measures
from numalet.insight.maps.node_map import DeviceUse, MapPod, MemoryBar, NodeMap, NumaBlock
from numalet.insight.maps.resource_maps import CpuUse

_PROBE: Final = "numalet-largest-pod"


class RoomRow(Value, kw_only=True):
    """The free resources of one NUMA node.

    ``devices`` are free and total numbers by resource. ``together_with`` are the other nodes of its
    memory group: no pod gets memory from it alone.
    """

    node_id: int
    node_class: str
    free_cpus: int
    cpus: int
    memory: tuple[MemoryBar, ...]
    devices: Mapping[str, tuple[int, int]]
    together_with: tuple[int, ...] = ()

    @property
    def free_bytes(self) -> int:
        return sum(bar.free_bytes for bar in self.memory if bar.resource == resources.MEMORY)

    @property
    def is_empty(self) -> bool:
        return not (self.cpus or self.devices or any(bar.total_bytes for bar in self.memory))


class LargestPod(Value):
    """The most CPUs for one container on a NUMA node that also takes all its free memory."""

    node_id: int
    cpus: int
    memory_bytes: int


class RoomTables(Value):
    """The rows: visible ones, the others, and NUMA nodes without resources."""

    first: tuple[RoomRow, ...]
    others: tuple[RoomRow, ...]
    empty: tuple[int, ...]

    @property
    def empty_ids(self) -> str:
        return cpu_set.text(self.empty).replace(",", ", ")


def tables(rows: list[RoomRow], most: int) -> RoomTables:
    """Return rows by ascending id; of more than ``most``, those with most room are visible."""
    kept = [row for row in rows if not row.is_empty]
    best = sorted(kept, key=_by_room, reverse=True)[:most]
    return RoomTables(
        first=tuple(row for row in kept if row in best),
        others=tuple(row for row in kept if row not in best),
        empty=tuple(row.node_id for row in rows if row.is_empty),
    )


def rooms(chart: NodeMap) -> list[RoomRow]:
    return [_row(chart, block) for block in chart.nodes]


def _row(chart: NodeMap, block: NumaBlock) -> RoomRow:
    devices: dict[str, tuple[int, int]] = {}
    for device in chart.devices:
        if block.node_id in device.nodes:
            free, count = devices.get(device.resource, (0, 0))
            devices[device.resource] = (free + (device.state is DeviceUse.FREE), count + 1)
    return RoomRow(
        node_id=block.node_id,
        node_class=block.node_class.value,
        free_cpus=sum(cell.use is CpuUse.SHARED for cell in block.cpus),
        cpus=len(block.cpus),
        memory=block.memory,
        devices=devices,
        together_with=tuple(
            each
            for group in chart.groups
            if block.node_id in group.nodes
            for each in group.nodes
            if each != block.node_id
        ),
    )


def roomiest(rows: list[RoomRow]) -> RoomRow | None:
    """Return the NUMA node with most room: outside groups, then by free CPUs, then by memory."""
    return max(rows, key=_by_room, default=None)


def _by_room(row: RoomRow) -> tuple[bool, int, int, int]:
    return not row.together_with, row.free_cpus, row.free_bytes, -row.node_id


def largest_pod(node: Node, row: RoomRow) -> LargestPod | None:
    """Return the largest Guaranteed pod of one container that lands on this NUMA node alone."""
    # A plugin may act on a device when it is called, so a search must not call it.
    node = node.without_plugins()
    unit = largest_request.unit_of(node.rules, resources.CPU)
    # Bisection by trial admissions assumes that a smaller pod lands if a larger one does.
    low, high = 0, row.free_cpus // unit + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _lands(node, row, middle * unit):
            low = middle
        else:
            high = middle
    return LargestPod(row.node_id, low * unit, row.free_bytes) if low else None


def _lands(node: Node, row: RoomRow, cpus: int) -> bool:
    wanted = {
        resources.CPU: Quantity.from_int(cpus),
        resources.MEMORY: Quantity.from_bytes(max(row.free_bytes, 1)),
    }
    pod = Pod(
        uid=_PROBE,
        name=_PROBE,
        app_containers=(Container(name="app", requests=wanted, limits=wanted),),
        qos_class=QosClass.GUARANTEED,
    )
    _, decision = node.admit(pod)
    if not decision.admitted:
        return False
    # Admission is not enough: the pod must use this NUMA node and no other one.
    span = measures.span_of(node.roster, decision.after, pod)
    return numa_mask.ids(span) == (row.node_id,)


def largest_holders(view: NodeView, most: int) -> list[MapPod]:
    return sorted(
        view.chart.pods,
        key=lambda pod: (-len(pod.cpus), -sum(pod.memory_bytes.values()), pod.title),
    )[:most]


def refusals(view: NodeView) -> Iterator[int]:
    """Yield the indices of rows of rejected pods, the last one first."""
    for at in range(len(view.rows) - 1, -1, -1):
        if view.rows[at].is_rejected:
            yield at
