"""The kubelet's gauges of the CPU Manager, which move with every event.

They are set once, at the start, and from then on each allocation and each release moves them. A
CPU that an init container leaves to a later container of its pod is allocated twice and released
once, so after such a pod both are wrong until the kubelet restarts: too many exclusive CPUs, too
small a shared pool. Those of NUMA nodes are set only where a node has exclusive CPUs, so the last
of them leaves a value behind. In native mode the gauges are read off the ledger instead; the rule
is ``reused_cpus_are_counted_twice``.

A pod that is placed as a whole moves them once by all its CPUs, and again when its last container
goes. The kubelet counts NUMA nodes before it records the containers of such a pod.
Kubelet v1.32: ``initializeMetrics``, ``updateMetricsOnAllocate`` and ``updateMetricsOnRelease`` of
``staticPolicy``; v1.33: ``updateAllocationPerNUMAMetric``; v1.36: ``AllocatePod``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value
from numalet.core.node.node import Node

Exclusive: TypeAlias = Mapping[str, Mapping[str, CpuSet]]
"""CPUs of containers, by pod and name."""


class CpuGauges(Value):
    """CPUs in the shared pool that could be given away, and CPUs that are, also by NUMA node."""

    shared_count: int
    exclusive_count: int
    by_node: Mapping[int, int] = MappingProxyType({})


def at_start(node: Node) -> CpuGauges | None:
    """What they are set to when the CPU Manager starts; None where they do not move by events.

    CPUs that two containers of a pod have are counted for both, or once, as the release has it.
    """
    if not node.rules.behaviour.reused_cpus_are_counted_twice:
        return None
    static = node.roster.static_cpus
    if static is None:
        return CpuGauges(0, 0)
    held = node.snapshot.cpu.exclusive
    count = sum(len(cpus) for each in held.values() for cpus in each.values())
    if node.rules.release_rules.shared_cpus_count_once_at_start:
        count = exclusive_count(node)
    return CpuGauges(shared_count(node), count, _by_node(node, held))


def after(gauges: CpuGauges | None, before: Node, node: Node) -> CpuGauges | None:
    """They after everything that the ledger shows to have happened between two nodes."""
    old, new = before.snapshot.cpu, node.snapshot.cpu
    if gauges is None or old is new or node.roster.static_cpus is None:
        return gauges
    allocated, released = _moved(old, new)
    return CpuGauges(
        gauges.shared_count - allocated + released,
        gauges.exclusive_count + allocated - released,
        MappingProxyType(
            {
                **gauges.by_node,
                **_while_released(node, old, new),
                **_by_node(node, _as_allocated(old, new)),
            }
        ),
    )


def _as_allocated(old: CpuLedger, new: CpuLedger) -> Exclusive:
    """The records of containers at the last allocation or release between two ledgers."""
    placed = (uid for uid, cpus in new.pods.items() if old.pods.get(uid) != cpus)
    return {**new.exclusive, **{uid: old.exclusive.get(uid, {}) for uid in placed}}


def by_ledger(node: Node) -> CpuGauges:
    """They as the ledger has it, with the NUMA nodes that have no exclusive CPU."""
    static = node.roster.static_cpus
    none = {} if static is None else dict.fromkeys(static.topology.node_ids, 0)
    own = {**none, **_by_node(node, node.snapshot.cpu.exclusive)}
    return CpuGauges(shared_count(node), exclusive_count(node), own)


def _while_released(node: Node, old: CpuLedger, new: CpuLedger) -> dict[int, int]:
    """By NUMA node, how many CPUs it had left when they were last set while containers went.

    They go one by one, in no order that is known; here by name.
    """
    held = {uid: dict(containers) for uid, containers in old.exclusive.items()}
    last: dict[int, int] = {}
    for uid, containers in sorted(old.exclusive.items()):
        has = new.exclusive.get(uid, {})
        for name in sorted(name for name, cpus in containers.items() if has.get(name) != cpus):
            del held[uid][name]
            if uid not in old.pods or not held[uid]:
                last |= _by_node(node, held)
    return last


def _by_node(node: Node, held: Exclusive) -> Mapping[int, int]:
    static = node.roster.static_cpus
    if static is None:
        return {}
    given = cpu_mask.of_set(_all_of(held))
    counts = {part.part_id: (part.cpus & given).bit_count() for part in static.topology.nodes}
    return {node_id: count for node_id, count in counts.items() if count}


def _moved(old: CpuLedger, new: CpuLedger) -> tuple[int, int]:
    """How many CPUs were allocated, and how many released."""
    allocated = released = 0
    for uid in {*old.exclusive, *new.exclusive}:
        was, has = old.exclusive.get(uid, {}), new.exclusive.get(uid, {})
        if was is has or uid in old.pods or uid in new.pods:
            continue
        allocated += sum(len(cpus) for name, cpus in has.items() if was.get(name) != cpus)
        gone = {name: cpus for name, cpus in was.items() if has.get(name) != cpus}
        kept = {name: cpus for name, cpus in was.items() if name not in gone}
        # What another container of the pod still has is not released with the first.
        released += len(_union(gone) - _union(kept))
    for uid in {*old.pods, *new.pods}:
        of_pod = new.pods.get(uid)
        if of_pod is None:
            released += len(old.pods[uid])
        elif of_pod != old.pods.get(uid):
            allocated += len(of_pod)
    return allocated, released


def _union(held: Mapping[str, CpuSet]) -> CpuSet:
    return frozenset[int]().union(*held.values())


def shared_count(node: Node) -> int:
    """CPUs in the shared pool without reserved ones, by the ledger."""
    static = node.roster.static_cpus
    if static is None:
        return 0
    return len(node.snapshot.cpu.default - cpu_mask.to_set(static.reserved.cpus))


def exclusive_count(node: Node) -> int:
    """Different CPUs that are given to containers, by the ledger."""
    if node.roster.static_cpus is None:
        return 0
    return len(_all_of(node.snapshot.cpu.exclusive))


def _all_of(held: Exclusive) -> CpuSet:
    return frozenset[int]().union(*(cpus for each in held.values() for cpus in each.values()))
