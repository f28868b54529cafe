"""Keys of states: nodes with equal keys for a shape decide alike on it.

The law is: equal keys, equal verdicts, and refusals by the same reason, as by ``Node.admit``.
*Where* a pod is placed is not in a key: 4 CPUs of NUMA node 0 may be other ones on another node,
and which of them is said by one admission on that node.

``of`` gives the key with which thousands of states become dozens (see ``asking``), ``whole`` the
one that has every number: nodes with equal whole keys also decide alike on the copies that come
after the first one.

Keys hold objects that compare by identity (the class of the node, its devices), so that they are
for tables in memory and never for files.
"""

from __future__ import annotations

from typing import TypeAlias

from numalet.core.admission import predicates
from numalet.core.cluster.asking import Asking, CpuView, DeviceAsked
from numalet.core.cluster.facts import DeviceFacts, StateFacts
from numalet.core.managers.memory.ledger import NodeMemory

StateKey: TypeAlias = tuple[object, ...]
"""Equal where a shape can not distinguish two nodes. Has a hash."""


def of(facts: StateFacts, asking: Asking) -> StateKey:
    """The key of a node's state for what a shape asks."""
    return (
        facts.node_class,
        _cpus(facts, asking),
        _memory(facts, asking),
        tuple([_device(facts, each) for each in asking.devices if each.resource in facts.devices]),
        _predicates(facts, asking),
    )


def whole(facts: StateFacts, asking: Asking) -> StateKey:
    """The key that has every number of what the shape asks about."""
    snapshot, names = facts.snapshot, [each.resource for each in asking.devices]
    requested = snapshot.requested
    ports = asking.is_constrained or asking.pod.is_critical
    return (
        facts.node_class,
        facts.pool,
        facts.all_memory if asking.sees_memory else (),
        tuple([_all_of_device(facts.devices[name]) for name in names if name in facts.devices]),
        requested.pods,
        tuple([requested.amounts.get(name, 0) for name, _ in asking.amounts]),
        bool(snapshot.assumed),
        facts.alone if ports or facts.node.roster.extra else None,
    )


def _cpus(facts: StateFacts, asking: Asking) -> object:
    view, most = asking.cpu_view, asking.cpus
    if view is CpuView.NOTHING:
        return None
    if view is CpuView.EVERYTHING:
        return facts.pool
    free = facts.free_cpus
    cores = None
    if asking.counts_whole_cores and facts.node_class.static_cpus is not None:
        cores = min(facts.node_class.static_cpus.most_at_once(facts.snapshot.cpu.default), most)
    if view is CpuView.SUM:
        return (min(sum(free), most), cores)
    if view is CpuView.ENOUGH:
        return (tuple([each >= most for each in free]), cores)
    return (tuple([min(each, most) for each in free]), cores)


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


def _device(facts: StateFacts, asked: DeviceAsked) -> object:
    each = facts.devices[asked.resource]
    used = facts.snapshot.requested.amounts.get(asked.resource, 0)
    if asked.count is None:
        return (_all_of_device(each), used)
    most = asked.count
    counts = tuple(sorted((mask, min(n, most)) for mask, n in each.free_by_mask().items()))
    offered = max(each.devices.healthy.bit_count(), each.in_use_count + most)
    return (each.devices, counts, asked.requested > offered - used)


def _predicates(facts: StateFacts, asking: Asking) -> object:
    """What the general predicates will say, worked out where they are not about devices."""
    roster, snapshot = facts.node.roster, facts.snapshot
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
        # Which pods are evicted hangs on every one of them.
        return facts.alone
    place = None
    if asking.is_constrained and behaviour.constraints_are_asked:
        place = predicates.about_place(roster, snapshot, pod)
    return (tuple(lacks), bool(snapshot.assumed), place)
