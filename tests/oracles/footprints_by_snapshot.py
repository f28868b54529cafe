"""What a pod takes of a node, read out of two snapshots in the plainest way."""

from __future__ import annotations

from dataclasses import dataclass

from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot

CPU = "cpu"


@dataclass(frozen=True)
class Seen:
    """The figures of one landing; ``on`` are the NUMA nodes of the pod, ``left`` is by resource."""

    broken: frozenset[int]
    grouped: frozenset[int]
    on: frozenset[int]
    farthest: int
    devices_away: int
    left: dict[str, tuple[int, int]]
    """Beside the pod, and on the node."""


def seen(node: Node, pod: Pod) -> Seen | None:
    """What is seen once the node has admitted the pod; None if it does not."""
    before = _cleaned(node)
    after, decision = node.admit(pod)
    if not decision.admitted:
        return None
    # What evicted pods held is free at the next clean-up.
    after = _cleaned(after)
    held = {name: held_at(after, name, pod.uid) for name in resources(pod)}
    on = frozenset().union(*held.values())
    every = frozenset(node.rules.machine.node_ids)
    if not held.get(CPU):
        on = every
    return Seen(
        broken=frozenset(whole(before) - whole(after)),
        grouped=frozenset(grouped(after.snapshot) - grouped(before.snapshot)),
        on=on,
        farthest=max((apart(node, a, b) for a in on for b in on if a != b), default=0),
        devices_away=devices_away(after, pod.uid),
        left={name: (beside(after, name, held[name]), in_all(after, name)) for name in held},
    )


def _cleaned(node: Node) -> Node:
    return node.release_stale() if node.snapshot.sources_ready else node


def resources(pod: Pod) -> list[str]:
    """The resources that the pod's containers and the pod as a whole ask for."""
    names = {
        name for each in pod.containers() for name, amount in each.requests.items() if amount.value
    }
    if pod.pod_level is not None:
        names |= set(pod.pod_level.requests)
    return sorted(names)


def places_of_cpus(node: Node, cpus: frozenset[int]) -> frozenset[int]:
    """The NUMA nodes of these CPUs."""
    return frozenset(
        each.node_id
        for each in node.rules.machine.nodes
        for core in each.cores
        if cpus & set(core.threads)
    )


def places_of_device(node: Node, resource: str, name: str) -> frozenset[int]:
    """The NUMA nodes that a device is attached to, of those that the machine has."""
    known = node.snapshot.device.inventory.devices_of(resource).by_id
    places = known[name].numa_nodes if name in known else ()
    return frozenset(places) & set(node.rules.machine.node_ids)


def held_at(node: Node, resource: str, uid: str) -> frozenset[int]:
    """The NUMA nodes that a pod has a resource from."""
    snapshot = node.snapshot
    if resource == CPU:
        each_cpus = snapshot.cpu.exclusive.get(uid, {}).values()
        return places_of_cpus(node, frozenset().union(*each_cpus))
    held = {
        node_id
        for blocks in snapshot.memory.blocks.get(uid, {}).values()
        for block in blocks
        for node_id in block.nodes
        if block.resource == resource
    }
    for name in snapshot.device.held_by_pod(uid, resource):
        held |= places_of_device(node, resource, name)
    return frozenset(held)


def whole(node: Node) -> frozenset[int]:
    """The NUMA nodes of which nobody holds anything."""
    snapshot = node.snapshot
    held: set[int] = set()
    for each in snapshot.memory.nodes:
        if snapshot.memory.nodes[each].assignments:
            held.add(each)
    static = node.roster.static_cpus
    if static is not None:
        taken = static.allocatable - snapshot.cpu.default
        held |= places_of_cpus(node, taken)
    for resource, names in snapshot.device.in_use.items():
        for name in names:
            held |= places_of_device(node, resource, name)
    return frozenset(node.rules.machine.node_ids) - held


def grouped(snapshot: Snapshot) -> set[int]:
    """NUMA nodes that give memory together with others."""
    return {at for at, each in snapshot.memory.nodes.items() if each.group & (each.group - 1)}


def apart(node: Node, one: int, other: int) -> int:
    """How far two NUMA nodes are apart."""
    machine = node.rules.machine
    row = next(each.distances for each in machine.nodes if each.node_id == one)
    if row is None:
        return 10 if one == other else 20
    return row[machine.node_ids.index(other)]


def devices_away(after: Node, uid: str) -> int:
    """How far each device is from the CPUs of its container, added up."""
    total = 0
    for container, records in after.snapshot.device.records.get(uid, {}).items():
        cpus = after.snapshot.cpu.exclusive.get(uid, {}).get(container, frozenset())
        near = places_of_cpus(after, cpus)
        for resource, record in records.items():
            for name in record.device_ids:
                there = places_of_device(after, resource, name)
                if near and there:
                    total += min(apart(after, a, b) for a in near for b in there)
    return total


def beside(after: Node, resource: str, places: frozenset[int]) -> int:
    """What is free on these NUMA nodes."""
    snapshot = after.snapshot
    static = after.roster.static_cpus
    if resource == CPU:
        if static is None or not places:
            return 0
        free = static.allocatable & snapshot.cpu.default
        return sum(bool(places_of_cpus(after, frozenset([cpu])) & places) for cpu in free)
    if resource in snapshot.device.inventory.known:
        free_ids = snapshot.device.free(resource)
        return sum(bool(places_of_device(after, resource, name) & places) for name in free_ids)
    return sum(snapshot.memory.nodes[at].tables[resource].free for at in places)


def in_all(after: Node, resource: str) -> int:
    """What the node has left."""
    snapshot = after.snapshot
    if snapshot.device.is_handled(resource):
        return len(snapshot.device.free(resource))
    return after.roster.offered.get(resource, 0) - snapshot.requested.amounts.get(resource, 0)
