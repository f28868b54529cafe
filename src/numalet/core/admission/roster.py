"""The managers of a node, in the kubelet's order, and the values that they need.

Linux: device, cpu, memory. Windows: cpu, memory, device. The managers give hints and allocate in
this order. A fourth manager is one more slot here.

Kubelet: ``NewContainerManager`` in ``container_manager_linux.go``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from numalet.core.admission import node_resources
from numalet.core.config.rules import (
    CpuPolicy,
    MemoryPolicy,
    NodeRules,
    Scope,
    StartRefused,
    StartStage,
    TopologyPolicy,
)
from numalet.core.findings.managers import CpuManagerReservingWouldHang
from numalet.core.hints.fitness import FAR, Distances
from numalet.core.hints.provider import Indifferent, NoPlacement
from numalet.core.managers.cpu import confinement, static_policy, topology
from numalet.core.managers.cpu.confinement import Confinement, SharedLedger, Spread
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.pod_pool import CpuPodPools
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy as StaticCpuPolicy
from numalet.core.managers.device.device_policy import DevicePolicy
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.device.preference import NO_SAY, PreferredDevices
from numalet.core.managers.memory import tables
from numalet.core.managers.memory.ledger import MemoryLedger, NodeMemory
from numalet.core.managers.memory.pod_pool import MemoryPodPools
from numalet.core.managers.memory.static_policy import MemoryStaticPolicy as StaticMemoryPolicy
from numalet.core.model import numa_mask
from numalet.core.model.findings import Finding
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value, replace
from numalet.core.snapshot.slots import ExtraManager, ManagerSlot, Slot
from numalet.core.snapshot.snapshot import Snapshot


class Roster(Value):
    """The rules of a node and its managers, built once per start of the kubelet.

    ``static_cpus`` is the CPU Manager's static policy, if any. ``offered`` is the machine's
    allocatable amounts without devices: CPU in milli-CPUs, the rest in units. ``extra`` are
    managers that the kubelet does not have; their slots are last. The Device Manager calls
    ``plugins``.
    """

    rules: NodeRules
    slots: tuple[Slot, ...]
    all_nodes: NumaMask
    distances: Distances | None
    static_cpus: StaticCpuPolicy | None
    offered: Mapping[str, int]
    extra: tuple[ExtraManager[Any], ...] = ()
    plugins: PreferredDevices = NO_SAY

    def __repr__(self) -> str:
        return f"<Roster: {', '.join(slot.provider for slot in self.slots)}>"


def build(
    rules: NodeRules,
    plugins: PreferredDevices = NO_SAY,
    extra: Iterable[ExtraManager[Any]] = (),
) -> Roster | StartRefused:
    """Build the managers that these rules require, or return why the kubelet would not start.

    ``plugins`` prefer devices and may veto; by default they do neither. ``extra`` are managers that
    the kubelet does not have. Raises ``ValueError`` if two have one name.
    """
    extra = tuple(extra)
    static_cpus = _static_cpus(rules)
    if isinstance(static_cpus, Finding):
        hangs = isinstance(static_cpus, CpuManagerReservingWouldHang)
        return StartRefused(StartStage.NUMALET if hangs else StartStage.CPU_MANAGER, (static_cpus,))
    device, cpu = _device_slot(rules, plugins), _cpu_slot(rules, static_cpus)
    memory = _memory_slot(rules)
    slots: tuple[Slot, ...]
    match rules.machine.os:
        case OperatingSystem.LINUX:
            slots = (device, cpu, memory)
        case OperatingSystem.WINDOWS:
            slots = (cpu, memory, device)
        case _:
            assert_never(rules.machine.os)
    slots = (*slots, *(each.slot() for each in extra))
    names = [slot.provider for slot in slots]
    if len(set(names)) < len(names):
        raise ValueError(f"every manager needs a name of its own: {', '.join(names)}")
    all_nodes = numa_mask.of(rules.machine.node_ids)
    offered = node_resources.amounts(rules)
    return Roster(rules, slots, all_nodes, distances(rules), static_cpus, offered, extra, plugins)


def asking(staff: Roster, plugins: PreferredDevices) -> Roster:
    """Return the roster with these plugins; the same roster if it already has them.

    It keeps the other slots, because nodes of one class are recognized by shared slots. Plugins
    compare by identity: equal ones may have different state.
    """
    if staff.plugins is plugins:
        return staff
    device = _device_slot(staff.rules, plugins)
    slots = tuple(device if each.provider == device.provider else each for each in staff.slots)
    return replace(staff, slots=slots, plugins=plugins)


def choosing(
    staff: Roster, policy: TopologyPolicy | None = None, scope: Scope | None = None
) -> Roster:
    """Return the roster with another topology policy or scope, for the decision on one pod."""
    before = staff.rules.topology
    topology = replace(before, policy=policy or before.policy, scope=scope or before.scope)
    if topology == before:
        return staff
    rules = replace(staff.rules, topology=topology)
    return replace(staff, rules=rules, distances=distances(rules))


def confining(staff: Roster, spread: Spread = Spread.ANY) -> Roster:
    """Return the roster with the manager of confined pods, if there is a shared pool."""
    if staff.static_cpus is None:
        return staff
    manager = Confinement(staff.static_cpus, spread)
    slot = ManagerSlot(
        confinement.PROVIDER, manager, _shared_ledger, _with_confined, forgets=manager
    )
    others = [each for each in staff.slots if each.provider != slot.provider]
    return replace(staff, slots=(*others, slot))


def _static_cpus(rules: NodeRules) -> StaticCpuPolicy | Finding | None:
    match rules.cpu.policy:
        case CpuPolicy.NONE:
            return None
        case CpuPolicy.STATIC:
            return static_policy.build(rules.cpu, topology.discover(rules.machine))
        case _:
            assert_never(rules.cpu.policy)


def _device_slot(rules: NodeRules, plugins: PreferredDevices) -> ManagerSlot[DeviceLedger]:
    # On Windows the Device Manager does not use NUMA nodes.
    has_nodes = rules.machine.os is OperatingSystem.LINUX
    known = numa_mask.of(rules.machine.node_ids) if has_nodes else numa_mask.EMPTY
    policy = DevicePolicy(known, plugins, rules.release_rules.device_hints_over_device_nodes)
    return ManagerSlot("device", policy, _device_ledger, _with_device_ledger, forgets=policy)


def _cpu_slot(rules: NodeRules, static_cpus: StaticCpuPolicy | None) -> ManagerSlot[CpuLedger]:
    on = (_cpu_ledger, _with_cpu_ledger)
    if static_cpus is None:
        return ManagerSlot("cpu", Indifferent(), *on, NoPlacement(), is_idle=True)
    pods = CpuPodPools(static_cpus, rules.behaviour.pods_placed_whole_are_placed_anew)
    return ManagerSlot("cpu", static_cpus, *on, pods, forgets=static_cpus)


def _memory_slot(rules: NodeRules) -> ManagerSlot[MemoryLedger]:
    on = (_memory_ledger, _with_memory_ledger)
    match rules.memory.policy:
        case MemoryPolicy.NONE:
            return ManagerSlot("memory", Indifferent(), *on, NoPlacement(), is_idle=True)
        case MemoryPolicy.STATIC | MemoryPolicy.BEST_EFFORT:
            static = StaticMemoryPolicy(rules.behaviour, rules.release_rules.no_memory_is_skipped)
            pods = MemoryPodPools(static)
            return ManagerSlot("memory", static, *on, pods, forgets=static)
        case _:
            assert_never(rules.memory.policy)


def initial_memory(rules: NodeRules) -> Mapping[int, NodeMemory]:
    """Return the Memory Manager's node map of this machine without allocations."""
    return tables.initial_nodes(rules.machine, rules.memory.system_reserved, rules.behaviour)


def distances(rules: NodeRules) -> Distances | None:
    """Return the distances for the merge, if the policy and its options use them."""
    counts = rules.topology.policy in (TopologyPolicy.BEST_EFFORT, TopologyPolicy.RESTRICTED)
    if not (counts and rules.topology.prefer_closest_numa_nodes):
        return None
    ids = rules.machine.node_ids
    listed = {node.node_id: node.distances or () for node in rules.machine.nodes}
    if not rules.behaviour.distances_by_node_id:
        return Distances({i: dict(zip(ids, row, strict=True)) for i, row in listed.items()})
    lengths = {i: len(row) for i, row in listed.items()}
    return Distances(
        {i: {j: row[j] if j < len(row) else FAR for j in ids} for i, row in listed.items()},
        lengths if max(ids, default=-1) >= min(lengths.values(), default=0) else None,
    )


# Named functions instead of lambdas, because nodes are pickled.


def _device_ledger(snapshot: Snapshot) -> DeviceLedger:
    return snapshot.device


def _with_device_ledger(snapshot: Snapshot, ledger: DeviceLedger) -> Snapshot:
    return replace(snapshot, device=ledger)


def _cpu_ledger(snapshot: Snapshot) -> CpuLedger:
    return snapshot.cpu


def _with_cpu_ledger(snapshot: Snapshot, ledger: CpuLedger) -> Snapshot:
    return replace(snapshot, cpu=ledger)


def _shared_ledger(snapshot: Snapshot) -> SharedLedger:
    return SharedLedger(snapshot.cpu, snapshot.extra_ledgers.get(confinement.PROVIDER, {}))


def _with_confined(snapshot: Snapshot, ledger: SharedLedger) -> Snapshot:
    extra = {**snapshot.extra_ledgers, confinement.PROVIDER: ledger.confined}
    return replace(snapshot, extra_ledgers=extra)


def _memory_ledger(snapshot: Snapshot) -> MemoryLedger:
    return snapshot.memory


def _with_memory_ledger(snapshot: Snapshot, ledger: MemoryLedger) -> Snapshot:
    return replace(snapshot, memory=ledger)
