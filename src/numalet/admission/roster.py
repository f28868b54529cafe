"""Which managers work on a node, in the kubelet's order, and what they need to know.

Linux: device, cpu, memory. Windows: cpu, memory, device. The order is the order of asking and
of allocating. A fourth manager is one more slot here.
Kubelet: ``NewContainerManager`` in ``container_manager_linux.go``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from numalet.config.rules import MemoryPolicy, NodeRules, TopologyPolicy
from numalet.hints.fitness import Distances
from numalet.hints.indifferent import Indifferent
from numalet.hints.provider import ResourceManager
from numalet.managers.cpu.ledger import CpuLedger
from numalet.managers.memory import tables
from numalet.managers.memory.ledger import MemoryLedger, NodeMemory
from numalet.managers.memory.static_policy import StaticPolicy
from numalet.model import numa_mask
from numalet.model.machine_info import MachineInfo, OperatingSystem
from numalet.model.numa_mask import NumaMask
from numalet.snapshot.slots import ManagerSlot, Slot


@dataclass(frozen=True, slots=True)
class Roster:
    """The rules of a node and its managers, built once per start of the kubelet."""

    rules: NodeRules
    slots: tuple[Slot, ...]
    all_nodes: NumaMask
    distances: Distances | None


def build(rules: NodeRules) -> Roster:
    """The managers that these rules ask for."""
    device: ManagerSlot[None] = ManagerSlot(
        "device", Indifferent(), lambda snapshot: None, lambda snapshot, ledger: snapshot
    )
    cpu: ManagerSlot[CpuLedger] = ManagerSlot(
        "cpu",
        Indifferent(),
        lambda snapshot: snapshot.cpu,
        lambda snapshot, ledger: replace(snapshot, cpu=ledger),
    )
    memory: ManagerSlot[MemoryLedger] = ManagerSlot(
        "memory",
        _memory_manager(rules),
        lambda snapshot: snapshot.memory,
        lambda snapshot, ledger: replace(snapshot, memory=ledger),
    )
    slots: tuple[Slot, ...]
    match rules.machine.os:
        case OperatingSystem.LINUX:
            slots = (device, cpu, memory)
        case OperatingSystem.WINDOWS:
            slots = (cpu, memory, device)
    return Roster(rules, slots, numa_mask.of(rules.machine.node_ids), _distances(rules))


def _memory_manager(rules: NodeRules) -> ResourceManager[MemoryLedger]:
    match rules.memory.policy:
        case MemoryPolicy.NONE:
            return Indifferent()
        case MemoryPolicy.STATIC | MemoryPolicy.BEST_EFFORT:
            return StaticPolicy(tuple(numa_mask.by_size(rules.machine.node_ids)))


def initial_memory(rules: NodeRules) -> Mapping[int, NodeMemory]:
    """The Memory Manager's node map of this machine when it is empty."""
    return tables.initial_nodes(rules.machine, rules.memory.system_reserved)


def _distances(rules: NodeRules) -> Distances | None:
    """The distances that decide, None where they do not count."""
    counts = rules.topology.policy in (TopologyPolicy.BEST_EFFORT, TopologyPolicy.RESTRICTED)
    if not (counts and rules.topology.prefer_closest_numa_nodes):
        return None
    return Distances(_rows(rules.machine, rules.behaviour.distances_by_node_id))


def _rows(machine: MachineInfo, by_node_id: bool) -> dict[int, dict[int, int]]:
    ids = machine.node_ids
    rows = {}
    for node in machine.nodes:
        row = node.distances or ()
        columns = {i: i for i in ids} if by_node_id else {i: at for at, i in enumerate(ids)}
        rows[node.node_id] = {i: row[columns[i]] for i in ids}
    return rows
