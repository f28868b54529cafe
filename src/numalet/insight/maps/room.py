"""The room on a node: what is free on each NUMA node, and the sums of all requests.

*Allocatable* is what pods can get: all of a resource without what is reserved for the system.
*Free* is the part of the allocatable amount that no pod has for itself, and that a manager could
allocate to one more pod alone: CPUs with the CPU Manager policy static, memory with the Memory
Manager policy Static, healthy devices. Other pods may run on free CPUs until then. "n of m free"
always means: of m allocatable.

Without such a policy nothing is allocated per NUMA node, and no amount is free on one of them: the
kubelet compares the *sum of all requests* with the allocatable amount of the node. It does so with
such a policy, too, so a pod may be refused although its resources are free on a NUMA node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.cluster import scheduler_sums
from numalet.core.model import cpu_set, resources
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.insight.maps.map_devices import DeviceUse
from numalet.insight.maps.node_map import MemoryBar, NodeMap, NumaBlock, Unheld
from numalet.insight.maps.resource_maps import CpuUse
from numalet.wording import numbers

CPUS: Final = "CPUs"


class RoomRow(Value, kw_only=True):
    """The room on one NUMA node. Where nothing is allocated per NUMA node, amounts are None.

    ``cpus`` are allocatable. ``memory`` has bars only with free amounts, ``total_bytes`` is that of
    plain memory. ``devices`` are free and total numbers by resource. ``together_with`` are the
    other nodes of its memory group: no pod gets memory from it alone.
    """

    node_id: int
    node_class: str
    free_cpus: int | None
    cpus: int
    total_bytes: int
    memory: tuple[MemoryBar, ...]
    devices: Mapping[str, tuple[int, int]]
    together_with: tuple[int, ...] = ()

    @property
    def free_bytes(self) -> int | None:
        of_memory = (bar.free_bytes for bar in self.memory if bar.resource == resources.MEMORY)
        return next(of_memory, None)

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to allocate, now or ever."""
        return not (
            self.cpus
            or self.total_bytes
            or self.devices
            or any(bar.total_bytes for bar in self.memory)
        )


class RoomTables(Value):
    """The rows: visible ones, the others, and NUMA nodes without resources."""

    first: tuple[RoomRow, ...]
    others: tuple[RoomRow, ...]
    empty: tuple[int, ...]

    @property
    def empty_ids(self) -> str:
        return cpu_set.text(self.empty).replace(",", ", ")


class MostRoom(Value):
    """The NUMA node with most room, and the resource that decided it against the second one.

    ``by`` is empty if no comparison decided it: all others have equal room, or are in groups.
    """

    row: RoomRow
    by: str
    is_shared: bool
    """Whether another NUMA node has equal room."""


class RequestSum(Value):
    """The requests of all active pods for one resource: milli-CPUs, or bytes."""

    resource: str
    requested: int
    allocatable: int

    @property
    def left(self) -> int:
        return max(self.allocatable - self.requested, 0)


def request_sums(node: Node) -> tuple[RequestSum, ...]:
    """Return CPUs and memory, and huge pages if the node has some."""
    pages = sorted(filter(resources.is_hugepages, node.roster.offered))
    return tuple(
        RequestSum(name, there - scheduler_sums.free_of(node, name), there)
        for name in (resources.CPU, resources.MEMORY, *pages)
        for there in (scheduler_sums.allocatable_of(node, name),)
        if there > 0
    )


def requests_sentence(node: Node) -> str:
    """Return ``Pods request 2 of 15 CPUs and 1Gi of 62Gi of memory.``."""
    if node.snapshot.assumed:
        return "What all pods request is not known: state files name only what some have alone."
    parts = []
    for each in request_sums(node):
        if each.resource == resources.CPU:
            of = numbers.counted(each.allocatable // 1000, "CPU")
            if each.allocatable % 1000:
                of = f"{numbers.amount(each.resource, each.allocatable)} CPUs"
            parts.append(f"{numbers.amount(each.resource, each.requested)} of {of}")
        elif each.resource == resources.MEMORY or each.requested:
            sizes = map(numbers.rounded_size, (each.requested, each.allocatable))
            parts.append(f"{' of '.join(sizes)} of {each.resource}")
    return f"Pods request {' and '.join(parts)}." if parts else ""


def rooms(chart: NodeMap) -> list[RoomRow]:
    return [_row(chart, block) for block in chart.nodes]


def _row(chart: NodeMap, block: NumaBlock) -> RoomRow:
    devices: dict[str, tuple[int, int]] = {}
    for device in chart.devices:
        if block.node_id in device.nodes:
            free, count = devices.get(device.resource, (0, 0))
            devices[device.resource] = (free + (device.state is DeviceUse.FREE), count + 1)
    uses = [cell.use for cell in block.cpus]
    return RoomRow(
        node_id=block.node_id,
        node_class=block.node_class.value,
        free_cpus=uses.count(CpuUse.SHARED) if chart.cpus is Unheld.FREE else None,
        cpus=len(uses) - uses.count(CpuUse.RESERVED),
        total_bytes=sum(
            bar.total_bytes for bar in block.memory if bar.resource == resources.MEMORY
        ),
        memory=block.memory if chart.memory is Unheld.FREE else (),
        devices=devices,
        together_with=tuple(
            each
            for group in chart.groups
            if block.node_id in group.nodes
            for each in group.nodes
            if each != block.node_id
        ),
    )


def tables(rows: list[RoomRow], most: int) -> RoomTables:
    """Return rows by ascending id; of more than ``most``, those with most room are visible."""
    kept = [row for row in rows if not row.is_empty]
    best = _by_room(kept)[:most]
    return RoomTables(
        first=tuple(row for row in kept if row in best),
        others=tuple(row for row in kept if row not in best),
        empty=tuple(row.node_id for row in rows if row.is_empty),
    )


def roomiest(rows: list[RoomRow]) -> MostRoom | None:
    """Return the NUMA node with most room; None if nothing is allocated per NUMA node.

    Nodes outside groups come first. Then the scarcest device decides, then CPUs, then memory: a pod
    that needs a GPU cannot go where only CPUs are free.
    """
    ranked = _by_room(rows)
    names = _names(rows)
    if not ranked or not any(_amounts(ranked[0], names).values()):
        return None
    best, others = ranked[0], [row for row in ranked[1:] if not row.together_with]
    if best.together_with or not others:
        return MostRoom(best, "", is_shared=False)
    mine, second = _amounts(best, names), _amounts(others[0], names)
    by = next((name for name in names if mine[name] != second[name]), "")
    return MostRoom(best, by, is_shared=not by)


def _by_room(rows: list[RoomRow]) -> list[RoomRow]:
    names = _names(rows)

    def rank(row: RoomRow) -> tuple[bool, list[int], int]:
        amounts = [-each for each in _amounts(row, names).values()]
        return bool(row.together_with), amounts, row.node_id

    return sorted(rows, key=rank)


def _names(rows: list[RoomRow]) -> list[str]:
    """Return devices from the scarcest on, then CPUs, then memory."""
    counts: dict[str, int] = {}
    for row in rows:
        for name, (_, count) in row.devices.items():
            counts[name] = counts.get(name, 0) + count
    return [*sorted(counts, key=lambda name: (counts[name], name)), CPUS, resources.MEMORY]


def _amounts(row: RoomRow, names: list[str]) -> dict[str, int]:
    free = {name: count for name, (count, _) in row.devices.items()}
    free |= {CPUS: row.free_cpus or 0, resources.MEMORY: row.free_bytes or 0}
    return {name: free.get(name, 0) for name in names}
