"""The CPUs, memory and devices of a node as rows.

A CPU is *exclusive* to a pod, or *reserved* for the system, or *shared*: every container without
exclusive CPUs may run on it, and on reserved CPUs too unless the reservation is strict. Memory is
in bytes, by NUMA node and by container. Devices are by resource and set of NUMA nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from types import MappingProxyType

from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model import machine_queries as ask
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import CoreInfo, MachineInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot


class CpuUse(Enum):
    SHARED = "shared"
    RESERVED = "reserved"
    EXCLUSIVE = "exclusive"


class CpuCell(Value):
    """One CPU; ``pod_uid`` is its owner, if it has one."""

    cpu: int
    use: CpuUse
    pod_uid: str = ""


class NodeCpus(Value):
    node_id: int
    cores: tuple[tuple[CpuCell, ...], ...]

    def count(self, use: CpuUse) -> int:
        return sum(cell.use is use for core in self.cores for cell in core)


def cpus_of_node(node: Node) -> tuple[NodeCpus, ...]:
    """Return the map of a node; empty if its CPU Manager has no exclusive CPUs."""
    static = node.roster.static_cpus
    if static is None:
        return ()
    machine = node.rules.machine
    return cpu_map(node.snapshot, machine, frozenset(machine.cpu_ids) - static.allocatable)


def cpu_map(
    snapshot: Snapshot, machine: MachineInfo, reserved: Collection[int]
) -> tuple[NodeCpus, ...]:
    """Return the CPUs of all NUMA nodes that have some, by ascending id; cores by lowest CPU."""
    owners = {
        cpu: uid
        for uid, containers in snapshot.cpu.exclusive.items()
        for cpus in containers.values()
        for cpu in cpus
    }

    def cell(cpu: int) -> CpuCell:
        if cpu in owners:
            return CpuCell(cpu, CpuUse.EXCLUSIVE, owners[cpu])
        return CpuCell(cpu, CpuUse.RESERVED if cpu in reserved else CpuUse.SHARED)

    return tuple(
        NodeCpus(
            node.node_id,
            tuple(tuple(map(cell, threads)) for threads in sorted(_threads(node.cores))),
        )
        for node in sorted(machine.nodes, key=lambda node: node.node_id)
        if node.cores
    )


def _threads(cores: Collection[CoreInfo]) -> list[tuple[int, ...]]:
    return [tuple(sorted(core.threads)) for core in cores]


class TypeRow(Value):
    """One memory type: of a NUMA node, or of all nodes of a group."""

    resource: str
    total_bytes: int
    system_reserved_bytes: int
    allocatable_bytes: int
    reserved_bytes: int
    free_bytes: int


class MemoryNodeRow(Value):
    node_id: int
    node_class: NodeClass
    assignments: int
    group: tuple[int, ...]
    types: tuple[TypeRow, ...]


class MemoryHolder(Value):
    """The allocation of one container: sizes by node set and memory type, CPUs, devices.

    ``name`` is ``namespace/pod`` if a manifest is known, else the pod's uid.
    """

    key: ContainerKey
    name: str
    blocks: tuple[tuple[tuple[int, ...], str, int], ...]
    cpus: CpuSet = cpu_set.EMPTY
    devices: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class MemoryMap(Value):
    """The whole map. ``left_behind`` are allocations of inactive containers."""

    nodes: tuple[MemoryNodeRow, ...]
    active: tuple[MemoryHolder, ...]
    left_behind: tuple[MemoryHolder, ...]


def memory_map(
    snapshot: Snapshot,
    machine: MachineInfo,
    leftovers: Iterable[ContainerKey],
    known: Mapping[str, Pod],
) -> MemoryMap:
    """Return the map of a snapshot on its machine.

    ``leftovers`` are inactive containers with an allocation; ``known`` are pods by uid, for their
    names.
    """
    classes = ask.classes_by_node(machine)
    left = frozenset(leftovers)
    held = placement.of_all(snapshot)
    holders = [_holder(key, part, known) for key, part in held.items()]
    return MemoryMap(
        nodes=tuple(
            MemoryNodeRow(
                node_id=node_id,
                node_class=classes[node_id],
                assignments=node.assignments,
                group=numa_mask.ids(node.group),
                types=type_rows(node),
            )
            for node_id, node in snapshot.memory.nodes.items()
        ),
        active=tuple(holder for holder in holders if holder.key not in left),
        left_behind=tuple(holder for holder in holders if holder.key in left),
    )


def type_rows(node: NodeMemory) -> tuple[TypeRow, ...]:
    return tuple(
        TypeRow(
            resource=name,
            total_bytes=table.total,
            system_reserved_bytes=table.system_reserved,
            allocatable_bytes=table.allocatable,
            reserved_bytes=table.reserved,
            free_bytes=table.free,
        )
        for name, table in sorted(node.tables.items())
    )


def _holder(key: ContainerKey, held: Placement, known: Mapping[str, Pod]) -> MemoryHolder:
    pod = known.get(key.pod_uid)
    return MemoryHolder(
        key=key,
        name=str(pod) if pod is not None else key.pod_uid,
        blocks=tuple((block.nodes, block.resource, block.size_bytes) for block in held.memory),
        cpus=held.cpus,
        devices=held.devices,
    )


class DeviceRow(Value):
    """Devices of one resource on the same NUMA nodes, empty if they have no NUMA node.

    ``free`` are allocatable, ``in_use`` are allocated, ``unhealthy`` are the rest. All ids are
    sorted.
    """

    resource: str
    nodes: tuple[int, ...]
    free: tuple[str, ...]
    in_use: tuple[str, ...]
    unhealthy: tuple[str, ...]


def device_map(ledger: DeviceLedger) -> tuple[DeviceRow, ...]:
    return tuple(
        row for resource in sorted(ledger.inventory.known) for row in _rows(ledger, resource)
    )


def _rows(ledger: DeviceLedger, resource: str) -> list[DeviceRow]:
    by_nodes: dict[NumaMask, set[str]] = {}
    for name, mask in ledger.inventory.devices_of(resource).masks.items():
        by_nodes.setdefault(mask, set()).add(name)
    used, free = ledger.in_use.get(resource, frozenset()), ledger.free(resource)
    return [
        DeviceRow(
            resource,
            nodes,
            free=tuple(sorted(names & free)),
            in_use=tuple(sorted(names & used)),
            unhealthy=tuple(sorted(names - free - used)),
        )
        for nodes, names in sorted((numa_mask.ids(mask), names) for mask, names in by_nodes.items())
    ]
