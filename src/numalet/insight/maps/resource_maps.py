"""The CPUs, memory and devices of a node, as documents show them.

A CPU is *exclusive* to a pod, or *reserved* for the system, or *shared*: every container without
exclusive CPUs may run on it, and on reserved CPUs too unless the reservation is strict. Memory is
in bytes, by NUMA node and by container. Devices are by resource and set of NUMA nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model import machine_queries as ask
from numalet.core.model.machine_info import CoreInfo, MachineInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import OutputDocument, Value
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


class SimulationCpusDocument(OutputDocument):
    """The CPUs of a NUMA node after the last step; ``exclusive`` ones by pod uid."""

    node_id: int
    shared: str
    reserved: str
    exclusive: dict[str, str]


def cpu_lists(nodes: Iterable[NodeCpus]) -> list[SimulationCpusDocument]:
    return [_cpu_list(node) for node in nodes]


def _cpu_list(node: NodeCpus) -> SimulationCpusDocument:
    cells = [cell for core in node.cores for cell in core]
    owners = sorted({cell.pod_uid for cell in cells if cell.use is CpuUse.EXCLUSIVE})
    return SimulationCpusDocument(
        node_id=node.node_id,
        shared=_listed(cell for cell in cells if cell.use is CpuUse.SHARED),
        reserved=_listed(cell for cell in cells if cell.use is CpuUse.RESERVED),
        exclusive={uid: _listed(cell for cell in cells if cell.pod_uid == uid) for uid in owners},
    )


def _listed(cells: Iterable[CpuCell]) -> str:
    return cpu_set.text(cell.cpu for cell in cells)


class TypeDocument(OutputDocument):
    """One memory type: of a NUMA node, or of all nodes of a group."""

    resource: str
    total_bytes: int
    system_reserved_bytes: int
    allocatable_bytes: int
    reserved_bytes: int
    free_bytes: int


class SimulationNodeDocument(OutputDocument, rename={"node_class": "class"}):
    """A NUMA node after the last step; ``group`` are the nodes of its group, itself included."""

    node_id: int
    node_class: NodeClass
    assignments: int
    group: list[int]
    types: list[TypeDocument]


class SimulationBlockDocument(OutputDocument):
    """Memory of one type on a set of NUMA nodes; ``size`` in bytes."""

    numa_affinity: list[int]
    type: str
    size: int


class SimulationHolderDocument(OutputDocument):
    """What one container holds; ``name`` is namespace/pod, or the uid."""

    pod_uid: str
    container: str
    name: str
    memory: list[SimulationBlockDocument]
    cpuset: str
    devices: dict[str, list[str]]


class MemoryMap(Value):
    """The whole map. ``left_behind`` are allocations of inactive containers."""

    nodes: list[SimulationNodeDocument]
    active: list[SimulationHolderDocument]
    left_behind: list[SimulationHolderDocument]


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
    return MemoryMap(
        nodes=[
            SimulationNodeDocument(
                node_id=node_id,
                node_class=classes[node_id],
                assignments=node.assignments,
                group=list(numa_mask.ids(node.group)),
                types=type_rows(node),
            )
            for node_id, node in snapshot.memory.nodes.items()
        ],
        active=[_holder(key, part, known) for key, part in held.items() if key not in left],
        left_behind=[_holder(key, part, known) for key, part in held.items() if key in left],
    )


def type_rows(node: NodeMemory) -> list[TypeDocument]:
    return [
        TypeDocument(
            resource=name,
            total_bytes=table.total,
            system_reserved_bytes=table.system_reserved,
            allocatable_bytes=table.allocatable,
            reserved_bytes=table.reserved,
            free_bytes=table.free,
        )
        for name, table in sorted(node.tables.items())
    ]


def _holder(
    key: ContainerKey, held: Placement, known: Mapping[str, Pod]
) -> SimulationHolderDocument:
    pod = known.get(key.pod_uid)
    return SimulationHolderDocument(
        pod_uid=key.pod_uid,
        container=key.container,
        name=str(pod) if pod is not None else key.pod_uid,
        memory=[
            SimulationBlockDocument(list(block.nodes), block.resource, block.size_bytes)
            for block in held.memory
        ],
        cpuset=cpu_set.text(held.cpus),
        devices={resource: list(ids) for resource, ids in held.devices.items()},
    )


class SimulationDevicesDocument(OutputDocument):
    """Devices of one resource on the same NUMA nodes, by what became of them."""

    resource: str
    numa_nodes: list[int]
    free: list[str]
    in_use: list[str]
    unhealthy: list[str]


def device_map(ledger: DeviceLedger) -> list[SimulationDevicesDocument]:
    """Return the devices by resource and NUMA nodes; the nodes are empty for devices without one.

    ``free`` are allocatable, ``in_use`` are allocated, ``unhealthy`` are the rest; ids are sorted.
    """
    return [row for resource in sorted(ledger.inventory.known) for row in _rows(ledger, resource)]


def _rows(ledger: DeviceLedger, resource: str) -> list[SimulationDevicesDocument]:
    by_nodes: dict[NumaMask, set[str]] = {}
    for name, mask in ledger.inventory.devices_of(resource).masks.items():
        by_nodes.setdefault(mask, set()).add(name)
    used, free = ledger.in_use.get(resource, frozenset()), ledger.free(resource)
    return [
        SimulationDevicesDocument(
            resource,
            list(nodes),
            free=sorted(names & free),
            in_use=sorted(names & used),
            unhealthy=sorted(names - free - used),
        )
        for nodes, names in sorted((numa_mask.ids(mask), names) for mask, names in by_nodes.items())
    ]
