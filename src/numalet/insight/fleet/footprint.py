"""The footprint of a pod on a node that admits it: figures to compare such nodes.

A NUMA node is *whole* while no pod has exclusive resources on it: CPUs, accounted memory, or
devices. Pods in the shared pool leave it whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from numalet.core.admission.decision import Decision
from numalet.core.cluster import keys, verdicts
from numalet.core.cluster.facts import StateFacts
from numalet.core.cluster.keys import StateKey
from numalet.core.cluster.verdicts import VerdictTable
from numalet.core.managers.cpu import cpu_mask
from numalet.core.model import numa_mask, pod_demand, resources
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.core.snapshot.placement import Placement

LOCAL_DISTANCE: Final = 10
REMOTE_DISTANCE: Final = 20
"""The kernel's default distance of two NUMA nodes."""

_MOST_KEYS: Final = 100_000

Places: TypeAlias = Mapping[str, NumaMask]
"""The NUMA nodes of the pod's allocation, by resource."""


class Remainder(Value):
    """The free amount of one resource after the admission.

    CPU is in thousandths, or whole if exclusive. ``beside``: on the NUMA nodes of the pod's
    allocation; 0 if it has no such nodes. ``in_all``: on the node, by the scheduler's sums; for
    devices, the healthy and free ones.
    """

    beside: int
    in_all: int


class Footprint(Value):
    """The effect of the pod on a node, and its place there.

    ``broken`` counts NUMA nodes that would stop being whole, ``grouped`` those that would join a
    memory group. ``left`` are the requested resources, the scarcest first: devices, then memory and
    huge pages, then CPUs.

    ``numa_nodes`` counts those of the pod's CPUs, memory and devices; a pod without exclusive CPUs
    may run on all of them. ``distance`` is the largest between two of them, 0 for a single one;
    ``device_distance`` is the sum of the distances of each device from the CPUs of its container.
    """

    broken: int
    grouped: int
    left: tuple[Remainder, ...]
    numa_nodes: int
    distance: int
    device_distance: int


class Footprints:
    """The footprints of one shape. For one thread."""

    def __init__(self, table: VerdictTable) -> None:
        self._table = table
        self._names = scarcest_first(_asked(table.pod))
        self._by_key: dict[StateKey, Footprint | None] = {}
        self.admissions = 0

    def of(self, facts: StateFacts) -> Footprint | None:
        """Return the footprint on the node with these facts, if it admits the pod."""
        key = self._key(facts)
        try:
            return self._by_key[key]
        except KeyError:
            # Dropping all is simpler than an order of use, and rare.
            if len(self._by_key) >= _MOST_KEYS:
                self._by_key.clear()
            made = self._by_key[key] = self._made(facts)
            return made

    def _key(self, facts: StateFacts) -> StateKey:
        # Nodes in equal states have equal footprints, so one admission serves all of them.
        asking = self._table.asking(facts.node_class)
        if asking.sees_only_the_state:
            return (facts.state,)
        requested = facts.snapshot.requested.amounts
        return (
            keys.whole(facts, asking),
            whole_numa_nodes(facts),
            tuple([requested.get(name, 0) for name in self._names]),
        )

    def _made(self, facts: StateFacts) -> Footprint | None:
        self.admissions += 1
        decision = verdicts.try_out(facts.node, self._table.pod)
        if not decision.admitted:
            return None
        after = facts.readers.facts(facts.node.at(decision.after))
        return _footprint(self._names, facts, after, decision)


def _asked(pod: Pod) -> set[str]:
    """Return the requested resources, with pod-level ones, which some releases ignore."""
    whole = pod.pod_level.requests if pod.pod_level is not None else {}
    return {*pod_demand.amounts(pod), *whole}


def scarcest_first(names: Iterable[str]) -> tuple[str, ...]:
    """Sort resources: devices, then memory, then CPUs."""
    # The ephemeral storage of nodes is not known, so it is left out.
    known = [name for name in names if name != resources.EPHEMERAL_STORAGE]
    return tuple(
        sorted(known, key=lambda name: (not resources.is_device(name), name == resources.CPU, name))
    )


def whole_numa_nodes(facts: StateFacts) -> NumaMask:
    held = numa_mask.of(node_id for node_id, each in facts.memory.items() if each.assignments)
    static = facts.node_class.static_cpus
    if static is not None:
        for part, free in zip(static.topology.nodes, facts.free_cpus, strict=True):
            if free < (part.cpus & ~static.reserved.cpus).bit_count():
                held |= 1 << part.part_id
    for device in facts.devices.values():
        for at, mask in enumerate(device.devices.masks):
            if device.in_use >> at & 1:
                held |= mask
    return facts.node.roster.all_nodes & ~held


def _footprint(
    names: Sequence[str], before: StateFacts, after: StateFacts, decision: Decision
) -> Footprint:
    placements = tuple(decision.placements.values())
    # The distance of devices is that from the CPUs of their own container.
    by_container = [_places(after, each) for each in placements]
    places: dict[str, NumaMask] = {}
    for each in by_container:
        for name, mask in each.items():
            places[name] = places.get(name, numa_mask.EMPTY) | mask
    machine = after.node.rules.machine
    nodes = numa_mask.union(places.values())
    # A pod without exclusive CPUs may run on every NUMA node.
    if resources.CPU not in places:
        nodes |= after.node.roster.all_nodes
    ids, between = numa_mask.ids(nodes), distances(machine)
    return Footprint(
        # Only nodes that were whole before can break; a pod on a used NUMA node costs nothing here.
        broken=(whole_numa_nodes(before) & ~whole_numa_nodes(after)).bit_count(),
        grouped=_grouped(before, after),
        left=tuple([_left(after, name, places.get(name, numa_mask.EMPTY)) for name in names]),
        numa_nodes=len(ids),
        distance=max(
            (between[one, other] for one in ids for other in ids if one != other), default=0
        ),
        device_distance=sum(
            _device_distance(after, each, places, between)
            for each, places in zip(placements, by_container, strict=True)
        ),
    )


def _places(after: StateFacts, placement: Placement) -> dict[str, NumaMask]:
    """Return the NUMA nodes of a container's allocation by resource, without empty ones."""
    places: dict[str, NumaMask] = {}
    static = after.node_class.static_cpus
    if static is not None and placement.cpus:
        cpus = cpu_mask.of_set(placement.cpus)
        places[resources.CPU] = numa_mask.of(
            part.part_id for part in static.topology.nodes if part.cpus & cpus
        )
    for block in placement.memory:
        mask = numa_mask.of(block.nodes)
        places[block.resource] = places.get(block.resource, numa_mask.EMPTY) | mask
    for name, ids in placement.devices.items():
        places[name] = numa_mask.union(_mask_of(after, name, each) for each in ids)
    return {name: mask for name, mask in places.items() if mask}


def _grouped(before: StateFacts, after: StateFacts) -> int:
    return sum(
        each.group.bit_count() > 1 and each.group != before.memory[node_id].group
        for node_id, each in after.memory.items()
    )


def _left(after: StateFacts, name: str, mask: NumaMask) -> Remainder:
    device = after.devices.get(name)
    if device is not None:
        beside = sum(count for of, count in device.free_by_mask().items() if of & mask)
        return Remainder(beside, device.free.bit_count())
    beside = 0
    static = after.node_class.static_cpus
    if name == resources.CPU and static is not None:
        beside = sum(
            free
            for part, free in zip(static.topology.nodes, after.free_cpus, strict=True)
            if mask >> part.part_id & 1
        )
    elif mask:
        beside = sum(after.memory[node_id].tables[name].free for node_id in numa_mask.ids(mask))
    offered = after.node.roster.offered.get(name, 0)
    return Remainder(beside, offered - after.snapshot.requested.amounts.get(name, 0))


def _device_distance(
    after: StateFacts,
    placement: Placement,
    places: Places,
    between: Mapping[tuple[int, int], int],
) -> int:
    """Return the sum of the distances of a container's devices from its CPUs."""
    near = numa_mask.ids(places.get(resources.CPU, numa_mask.EMPTY))
    distance = 0
    for name, ids in placement.devices.items() if near else ():
        for each in ids:
            there = numa_mask.ids(_mask_of(after, name, each))
            # A device on several NUMA nodes is as near as its nearest one.
            distance += min((between[one, to] for one in near for to in there), default=0)
    return distance


def _mask_of(after: StateFacts, resource: str, device_id: str) -> NumaMask:
    """Return the NUMA nodes of a device, without those that the machine does not have."""
    known = after.snapshot.device.inventory.devices_of(resource)
    return known.mask_of(device_id) & after.node.roster.all_nodes


def distances(machine: MachineInfo) -> dict[tuple[int, int], int]:
    ids = machine.node_ids
    between: dict[tuple[int, int], int] = {}
    for node in machine.nodes:
        row = node.distances or ()
        for at, other in enumerate(ids):
            unknown = LOCAL_DISTANCE if other == node.node_id else REMOTE_DISTANCE
            between[node.node_id, other] = row[at] if at < len(row) else unknown
    return between
