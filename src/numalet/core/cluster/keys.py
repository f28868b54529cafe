"""Keys of states: nodes with equal keys for a shape decide alike on it.

The law: equal keys give equal verdicts, and refusals by the same reason, as by ``Node.admit``. A
key does not determine the *placement*: 4 CPUs of NUMA node 0 may be other ones on another node.

Keys hold objects that compare by identity (the class of the node, its devices), so they are for
tables in memory, never for files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from numalet.core.admission import predicates
from numalet.core.cluster.asking import Asking, CpuView, DeviceAsked
from numalet.core.cluster.facts import DeviceFacts, StateFacts
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.model import pod_demand
from numalet.core.model.cpu_set import CpuSet
from numalet.core.snapshot.snapshot import Snapshot

StateKey: TypeAlias = tuple[object, ...]
"""Equal if a shape cannot distinguish two nodes. Hashable."""


def of(facts: StateFacts, asking: Asking) -> StateKey:
    """Return the coarsest key of a node's state that a shape allows.

    Thousands of states get dozens of keys, so few admissions are computed. ``asking`` describes
    which differences the shape can notice.
    """
    by_node = asking.one_node_each
    has_free = by_node is not None and facts.sizes_are_sane
    cpus = (_whole_cores(facts, asking), None) if has_free else _cpus(facts, asking)
    memory = by_node.key(facts) if by_node is not None and has_free else _memory(facts, asking)
    return (
        facts.node_class,
        cpus,
        memory,
        tuple(
            [
                _device(facts, each, is_alone=has_free)
                for each in asking.devices
                if each.resource in facts.devices
            ]
        ),
        _predicates(facts, asking),
    )


def whole(facts: StateFacts, asking: Asking) -> StateKey:
    """Return the key with every number about the shape's resources.

    Nodes with equal whole keys also decide alike on further copies of the pod.
    """
    ports = asking.is_constrained or asking.pod.is_critical
    # Copies of a pod with host ports conflict with each other, and preemption depends on every
    # pod.
    is_alone = ports or facts.node.roster.extra
    return (*_numbers(facts, asking), facts.alone if is_alone else None)


def seen(facts: StateFacts, asking: Asking) -> StateKey:
    """Return everything of a node that the shape can see, to detect changes of this node.

    Equal as long as no change could change the verdict.
    """
    snapshot, pod = facts.snapshot, asking.pod
    place = None
    if asking.is_constrained:
        place = predicates.about_place(facts.node.roster, snapshot, pod)
    others = tuple(sorted(snapshot.pods)) if pod.is_critical else ()
    alone = facts.alone if facts.node.roster.extra else None
    return (*_numbers(facts, asking), place, others, alone)


def _numbers(facts: StateFacts, asking: Asking) -> StateKey:
    snapshot, names = facts.snapshot, [each.resource for each in asking.devices]
    requested = snapshot.requested
    return (
        facts.node_class,
        facts.pool,
        facts.all_memory if asking.sees_memory else (),
        tuple([_all_of_device(facts.devices[name]) for name in names if name in facts.devices]),
        requested.pods,
        tuple([requested.amounts.get(name, 0) for name, _ in asking.amounts]),
        bool(snapshot.assumed),
    )


def with_holders(facts: StateFacts, asking: Asking, uids: Sequence[str]) -> StateKey:
    """Return the whole key with the allocations and requests of these active pods, in order.

    Nodes with equal keys decide alike even after removing the pods at the same positions.
    """
    snapshot, pod = facts.snapshot, asking.pod
    wants_ports = pod.constraints is not None and bool(pod.constraints.ports)
    placed_whole = snapshot.cpu.pods or snapshot.memory.pods
    is_odd = snapshot.assumed or placed_whole or not facts.sizes_are_sane
    if wants_ports or pod.is_critical or facts.node.roster.extra or is_odd:
        return (facts.alone,)
    place = None
    if asking.is_constrained:
        place = predicates.about_place(facts.node.roster, snapshot, pod)
    names = [each.resource for each in asking.devices if each.resource in facts.devices]
    amounts = [pod_demand.amounts(snapshot.pods[uid]) for uid in uids]
    return (
        facts.node_class,
        facts.pool,
        tuple([cpu_mask.of_set(_cpus_of(snapshot, uid)) for uid in uids]),
        _memory_with_holders(facts, uids) if asking.sees_memory else (),
        tuple([_device_with_holders(facts, name, uids) for name in names]),
        snapshot.requested.pods,
        snapshot.sources_ready,
        tuple(
            [
                (snapshot.requested.amounts.get(name, 0), *[each.get(name, 0) for each in amounts])
                for name, _ in asking.amounts
            ]
        ),
        place,
    )


def _cpus_of(snapshot: Snapshot, uid: str) -> CpuSet:
    return frozenset[int]().union(*snapshot.cpu.exclusive.get(uid, {}).values())


def _memory_with_holders(facts: StateFacts, uids: Sequence[str]) -> object:
    held = [
        tuple([blocks for _, blocks in sorted(facts.snapshot.memory.blocks.get(uid, {}).items())])
        for uid in uids
    ]
    is_joined = any(len(block.nodes) > 1 for pod in held for blocks in pod for block in blocks)
    # From memory that NUMA nodes provide together, the first pod by uid releases the lower part.
    order = tuple(sorted(range(len(uids)), key=uids.__getitem__)) if is_joined else ()
    nodes = [
        (node.assignments, *[(name, table.reserved) for name, table in node.tables.items()])
        for node in facts.memory.values()
    ]
    return (facts.all_memory, tuple(nodes), tuple(held), order)


def _device_with_holders(facts: StateFacts, resource: str, uids: Sequence[str]) -> object:
    ledger, bits = facts.snapshot.device, facts.readers.device_bits
    held = [ledger.held_by_pod(uid, resource) for uid in uids]
    # After a pod is removed, only the other pods' records keep devices in use.
    others = frozenset[str]().union(
        *[ledger.held_by_pod(uid, resource) for uid in ledger.records if uid not in uids]
    )
    return (
        _all_of_device(facts.devices[resource]),
        *[bits(facts.snapshot, resource, names) for names in (others, *held)],
    )


def _cpus(facts: StateFacts, asking: Asking) -> object:
    view, most = asking.cpu_view, asking.cpus
    if view is CpuView.NOTHING:
        return None
    if view is CpuView.EVERYTHING:
        return facts.pool
    free = facts.free_cpus
    cores = _whole_cores(facts, asking)
    # More than the request makes no difference; see ``asking``.
    if view is CpuView.SUM:
        return (min(sum(free), most), cores)
    if view is CpuView.ENOUGH:
        return (tuple([each >= most for each in free]), cores)
    return (tuple([min(each, most) for each in free]), cores)


def _whole_cores(facts: StateFacts, asking: Asking) -> int | None:
    static = facts.node_class.static_cpus
    if static is None or not asking.counts_whole_cores:
        return None
    return min(static.most_at_once(facts.snapshot.cpu.default), asking.cpus)


def _memory(facts: StateFacts, asking: Asking) -> object:
    if not asking.sees_memory:
        return None
    asked = asking.memory
    if asked is None or not facts.sizes_are_sane:
        return facts.all_memory
    sizes = tuple(asked.items())
    return tuple([_clamped(node, sizes) for node in facts.memory.values()])


def _clamped(node: NodeMemory, sizes: tuple[tuple[str, int], ...]) -> object:
    tables = node.tables
    return (
        node.assignments > 0,
        node.group,
        *[
            (min(tables[name].free, most), tables[name].allocatable) if name in tables else None
            for name, most in sizes
        ],
    )


def _all_of_device(each: DeviceFacts) -> object:
    return (each.devices, each.in_use, each.strays)


def _device(facts: StateFacts, asked: DeviceAsked, is_alone: bool) -> object:
    each = facts.devices[asked.resource]
    used = facts.snapshot.requested.amounts.get(asked.resource, 0)
    if asked.count is None:
        return (_all_of_device(each), used)
    most, free = asked.count, each.free_by_mask()
    counts: tuple[object, ...]
    if is_alone and all(mask.bit_count() < 2 for mask in free):
        # One container gets them, and all from one NUMA node.
        counts = (
            *sorted(mask for mask, n in free.items() if n >= most),
            sum(free.values()) >= most,
        )
    else:
        counts = tuple(sorted((mask, min(n, most)) for mask, n in free.items()))
    # The predicates count at least the devices in use; with this pod's own devices they are
    # ``most`` more.
    offered = max(each.devices.healthy.bit_count(), each.in_use_count + most)
    return (each.devices, counts, asked.requested > offered - used)


def _predicates(facts: StateFacts, asking: Asking) -> object:
    """Return the results of the general predicates, except for devices."""
    roster, snapshot = facts.node.roster, facts.snapshot
    # A manager that the kubelet does not have may use anything of a node, so its nodes are not
    # shared.
    if roster.extra:
        return facts.alone
    behaviour = roster.rules.behaviour
    if not behaviour.predicates_are_asked:
        return None
    requested = snapshot.requested
    lacks = [requested.pods + 1 > roster.rules.max_pods]
    for name, amount in asking.amounts:
        if name not in facts.devices:
            offered = roster.offered.get(name, 0)
            lacks.append(amount > offered - requested.amounts.get(name, 0))
    pod = asking.pod
    has_devices = any(each.resource in facts.devices for each in asking.devices)
    if pod.is_critical and behaviour.critical_pods_evict and (has_devices or any(lacks)):
        # Preemption depends on every pod of the node.
        return facts.alone
    place = None
    if asking.is_constrained and behaviour.constraints_are_asked:
        place = predicates.about_place(roster, snapshot, pod)
    return (tuple(lacks), bool(snapshot.assumed), place)
