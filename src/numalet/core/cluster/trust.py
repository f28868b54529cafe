"""Whether a published state can be its node's own, judged by its class and the node's pods.

A credential on a node may write anything about that node. A state that contradicts the pods bound
to the node is ignored, and every contradiction is a finding. Two CPUs swapped between two pods of
one size remain undetected: no other source lists them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from numalet.core.cluster import holding, published
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.objects import ListedState
from numalet.core.cluster.published_state import Held, PodHeld, Positions, PublishedState
from numalet.core.config.rules import MemoryPolicy
from numalet.core.findings.cluster import (
    ClusterStateAbsent,
    ClusterStateCpusLost,
    ClusterStateHolderElsewhere,
    ClusterStateHoldsNothing,
    ClusterStateOtherAmount,
    ClusterStateOverlap,
    ClusterStateSum,
)
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.findings import Finding
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Container, ContainerKind, Pod
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.snapshot import invariants
from numalet.core.snapshot.invariants import Invariant

_RUNNING = "Running"


class CheckedState(Value):
    """The node with its published state, if there are no contradictions."""

    node: Node | None
    contradictions: tuple[Finding, ...] = ()


def checked(
    member: Node,
    listed: ListedState,
    pods: Mapping[str, ClusterPod],
    bound: Sequence[ClusterPod],
) -> CheckedState:
    """Return the node with this state, if neither its class nor its pods contradict it.

    ``member`` is the empty node with its name. ``pods`` are all of the cluster by uid, ``bound``
    those with allocations on this node, in the order of their admission.
    """
    state = listed.state
    # Before the ledger is built: numbers that the class does not have could make it fail.
    strange = (*_elsewhere(member.rules.identity.name, state, pods), *_absent(member, state))
    if strange:
        return CheckedState(None, strange)
    node = published.onto(member, state, (each.pod for each in bound))
    contradictions = (
        *_cpus(member, node),
        *_devices(node),
        *_memory(node),
        # A pod that does not run yet, or that started after the publication, may have no
        # allocation yet. A pod that started while its devices had no plugin runs without them
        # forever. It resembles one with hidden devices, so its node is rebuilt, which is the
        # safer mistake.
        *(
            finding
            for each in bound
            if each.pod.phase == _RUNNING
            and not each.is_being_deleted
            and not _is_newer(each, listed)
            for finding in _amounts(node, each.pod)
        ),
    )
    return CheckedState(None if contradictions else node, contradictions)


def _is_newer(pod: ClusterPod, listed: ListedState) -> bool:
    """Return whether the pod is missing from the state and started after its publication.

    Both times are from the node's clock; the start time is in whole seconds.
    """
    started, published_at = pod.started_at_seconds, listed.published_seconds
    return (
        pod.pod.uid not in listed.state.pods
        and started is not None
        and published_at is not None
        and started >= math.floor(published_at)
    )


def _elsewhere(
    name: str, state: PublishedState, pods: Mapping[str, ClusterPod]
) -> Iterator[Finding]:
    """Yield holders that are on another node, or on no node."""
    for uid in state.pods:
        # A holder with an unknown pod is no contradiction: the pod was deleted, or created after
        # the list.
        known = pods.get(uid)
        if known is not None and known.pod.node_name != name:
            there = known.pod.node_name
            place = f"is bound to node {there}" if there else "waits for a node"
            yield ClusterStateHolderElsewhere(pod=str(known.pod), place=place)


def _absent(empty: Node, state: PublishedState) -> Iterator[Finding]:
    """Yield CPUs, NUMA nodes, memory types and devices that the class does not have."""
    every = [held for pod in state.pods.values() for held in _parts(pod)]
    cpus = frozenset().union(
        state.shared_cpus or (), *(held.cpus for held in every if held.cpus is not None)
    )
    if beyond := cpus.difference(empty.rules.machine.cpu_ids):
        yield ClusterStateAbsent(resource="CPUs", what=cpu_set.text(beyond))
    tables = empty.snapshot.memory.nodes
    for block in (block for held in every for block in held.memory or ()):
        for node_id in block.nodes:
            if node_id not in tables or block.resource not in tables[node_id].tables:
                where = f"on NUMA node {node_id}"
                yield ClusterStateAbsent(resource=block.resource, what=where)
    if beyond_ids := frozenset(state.memory) - frozenset(tables):
        yield ClusterStateAbsent(resource="NUMA nodes", what=cpu_set.text(beyond_ids))
    masks = 0
    for memory in state.memory.values():
        masks |= memory.group
    if beyond_ids := frozenset(numa_mask.ids(masks)) - frozenset(tables):
        yield ClusterStateAbsent(resource="NUMA nodes", what=cpu_set.text(beyond_ids))
    for resource, positions in _held_devices(every, state):
        known = state.devices.get(resource)
        devices = len(empty.snapshot.device.inventory.devices_of(resource).by_id)
        count = known.count if known is not None else devices
        if beyond := frozenset(at for at in positions if at >= count):
            yield ClusterStateAbsent(resource=resource, what=cpu_set.text(beyond))


def _parts(pod: PodHeld) -> Iterator[Held]:
    yield from (each.held for each in pod.containers)
    yield pod.whole
    yield pod.reusable


def _held_devices(every: Iterable[Held], state: PublishedState) -> Iterator[tuple[str, Positions]]:
    for held in every:
        yield from held.devices.items()
    yield from state.in_use.items()


def _cpus(empty: Node, node: Node) -> Iterator[Finding]:
    """Check that every CPU of an empty node's pool is shared, or held by one pod."""
    if node.roster.static_cpus is None:
        return
    ledger = node.snapshot.cpu
    holders = Counter(ledger.default)
    for uid in {*ledger.exclusive, *ledger.pods}:
        of_pod = frozenset[int]().union(*ledger.exclusive.get(uid, {}).values())
        # Once per pod: containers of one pod may share a CPU, for example with an init container
        # that has ended.
        holders.update(of_pod | ledger.pods.get(uid, frozenset()))
    if several := frozenset(cpu for cpu, count in holders.items() if count > 1):
        yield ClusterStateOverlap(resource="CPUs", what=cpu_set.text(several))
    lost = empty.snapshot.cpu.default - frozenset(holders)
    # Kubelet bug: one that places pods as a whole loses CPUs itself (v1.36, an alpha feature).
    if lost and not node.rules.release_rules.pod_level_pods_are_placed_whole:
        yield ClusterStateCpusLost(cpus=cpu_set.text(lost))


def _devices(node: Node) -> Iterator[Finding]:
    holders: Counter[tuple[str, str]] = Counter()
    for containers in node.snapshot.device.records.values():
        holders.update(
            {
                (resource, device)
                for resources in containers.values()
                for resource, record in resources.items()
                for device in record.device_ids
            }
        )
    for (resource, device), count in sorted(holders.items()):
        if count > 1:
            yield ClusterStateOverlap(resource=resource, what=device.lstrip("0") or "0")


def _memory(node: Node) -> Iterator[Finding]:
    """Check that the memory allocated on NUMA nodes equals the sizes of the blocks there."""
    if node.rules.memory.policy is MemoryPolicy.NONE:
        return
    ledger = node.snapshot.memory
    for each in invariants.violations(node.snapshot):
        if each.rule is Invariant.ASSIGNMENTS_COUNT_BLOCKS:
            yield ClusterStateSum(
                resource="the number of blocks",
                place=f"NUMA node {each.place}",
                counted=int(str(each.actual)),
                held=int(str(each.expected)),
            )
    # A kubelet that gave memory of one node of a group to a single container may have miscounted:
    # then its figures do not match its blocks, and the node is rebuilt.
    for mask in _used_together(ledger):
        ids = [node_id for node_id in numa_mask.ids(mask) if node_id in ledger.nodes]
        held: Counter[str] = Counter()
        for _, block in ledger.counted_blocks():
            if numa_mask.of(block.nodes) & mask:
                held[block.resource] += block.size_bytes
        for resource in sorted({name for each in ids for name in ledger.nodes[each].tables}):
            tables = [ledger.nodes[each].tables.get(resource) for each in ids]
            counted = sum(table.reserved for table in tables if table is not None)
            if counted != held[resource]:
                yield ClusterStateSum(
                    resource=resource,
                    place=f"NUMA nodes {numa_mask.text(mask)}",
                    counted=counted,
                    held=held[resource],
                )


def _used_together(ledger: MemoryLedger) -> list[NumaMask]:
    """Return the NUMA nodes; nodes that share blocks are merged into one set."""
    # Blocks of several nodes say only how much the nodes hold together, so these nodes are summed.
    masks = [numa_mask.of([node_id]) for node_id in ledger.nodes]
    for _, block in ledger.counted_blocks():
        joined = numa_mask.of(block.nodes)
        apart = [mask for mask in masks if not mask & joined]
        for mask in masks:
            joined |= mask if mask & joined else 0
        masks = [*apart, joined]
    return sorted(masks)


def _amounts(node: Node, given: Pod) -> Iterator[Finding]:
    """Check that a running pod has its request, for each container that has not ended."""
    for container, asked in holding.of_containers(node, given):
        if container.kind is not ContainerKind.INIT and not _is_resized(given, container):
            yield from _amounts_of(node, given, container, asked)


def _is_resized(pod: Pod, container: Container) -> bool:
    allocated = None if pod.allocated is None else pod.allocated.containers.get(container.name)
    return bool(allocated) and allocated != container.requests


def _amounts_of(
    node: Node, pod: Pod, container: Container, asked: Mapping[str, int]
) -> Iterator[Finding]:
    held = _held(node, pod, container)
    for name, amount in asked.items():
        has = held[name]
        if has == amount:
            continue
        who, inside = str(pod), container.name
        if has:
            yield ClusterStateOtherAmount(
                pod=who, container=inside, resource=name, asked=amount, held=has
            )
        else:
            yield ClusterStateHoldsNothing(pod=who, container=inside, resource=name, asked=amount)


def _held(node: Node, pod: Pod, container: Container) -> Counter[str]:
    snapshot = node.snapshot
    held = Counter({holding.CPUS: len(snapshot.cpu.cpus_of(pod.uid, container.name) or ())})
    for block in snapshot.memory.blocks_of(pod.uid, container.name) or ():
        held[block.resource] += block.size_bytes
    records = snapshot.device.records.get(pod.uid, {}).get(container.name, {})
    for name, record in records.items():
        held[name] = len(record.device_ids)
    return held
