"""The memory of a node as rows by NUMA node, and the allocations of containers. Sizes in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model import machine_queries as ask
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot


class TypeRow(Value):
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
