"""The CPUs of a node as a map, core by core.

A CPU is *exclusive* to a pod, or *reserved* for the system, or *shared*: every container without
exclusive CPUs may run on it, and on reserved CPUs too unless the reservation is strict.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from numalet.core.model.machine_info import CoreInfo, MachineInfo
from numalet.core.model.value import Value
from numalet.core.node.node import Node
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


def of_node(node: Node) -> tuple[NodeCpus, ...]:
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
