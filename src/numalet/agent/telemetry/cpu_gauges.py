"""The kubelet's gauges of the CPU Manager, including their drift.

The kubelet sets them at start and then changes them by each allocation and release. A CPU that an
init container leaves to a later container is allocated twice and released once, so the gauges stay
wrong until a restart. Native mode reads the ledger instead (rule
``reused_cpus_are_counted_twice``).

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
"""CPUs by pod uid and container name."""


class CpuGauges(Value):
    """Allocatable CPUs in the shared pool, exclusive CPUs, and exclusive CPUs by NUMA node."""

    shared_count: int
    exclusive_count: int
    by_node: Mapping[int, int] = MappingProxyType({})


def at_start(node: Node) -> CpuGauges | None:
    """The values at the start of the CPU Manager, if they move by events.

    CPUs of two containers of a pod count once or twice, as in the release.
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
    """Apply all changes of the ledger between two nodes."""
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
                # An allocation sets its nodes last, over values from releases.
                **_by_node(node, _as_allocated(old, new)),
            }
        ),
    )


def _as_allocated(old: CpuLedger, new: CpuLedger) -> Exclusive:
    """Records at the last allocation.

    For a pod placed as a whole, the kubelet sets the gauge before it records containers.
    """
    placed = (uid for uid, cpus in new.pods.items() if old.pods.get(uid) != cpus)
    return {**new.exclusive, **{uid: old.exclusive.get(uid, {}) for uid in placed}}


def by_ledger(node: Node) -> CpuGauges:
    """The values in the ledger, including NUMA nodes with zero."""
    static = node.roster.static_cpus
    none = {} if static is None else dict.fromkeys(static.topology.node_ids, 0)
    own = {**none, **_by_node(node, node.snapshot.cpu.exclusive)}
    return CpuGauges(shared_count(node), exclusive_count(node), own)


def _while_released(node: Node, old: CpuLedger, new: CpuLedger) -> dict[int, int]:
    """Exclusive CPUs by NUMA node, as set by the last release.

    The kubelet releases containers one by one in random order; here they are sorted by name.
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
    # The kubelet skips nodes without exclusive CPUs, so the gauge keeps the last value.
    return {node_id: count for node_id, count in counts.items() if count}


def _moved(old: CpuLedger, new: CpuLedger) -> tuple[int, int]:
    """Number of CPUs allocated and released."""
    allocated = released = 0
    for uid in {*old.exclusive, *new.exclusive}:
        was, has = old.exclusive.get(uid, {}), new.exclusive.get(uid, {})
        # Pods placed as a whole are counted below, by all their CPUs.
        if was is has or uid in old.pods or uid in new.pods:
            continue
        allocated += sum(len(cpus) for name, cpus in has.items() if was.get(name) != cpus)
        gone = {name: cpus for name, cpus in was.items() if has.get(name) != cpus}
        kept = {name: cpus for name, cpus in was.items() if name not in gone}
        # A CPU that another container of the pod still has is not released.
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
    """Allocatable CPUs in the shared pool, by the ledger."""
    static = node.roster.static_cpus
    if static is None:
        return 0
    return len(node.snapshot.cpu.default - cpu_mask.to_set(static.reserved.cpus))


def exclusive_count(node: Node) -> int:
    """Distinct exclusive CPUs, by the ledger."""
    if node.roster.static_cpus is None:
        return 0
    return len(_all_of(node.snapshot.cpu.exclusive))


def _all_of(held: Exclusive) -> CpuSet:
    return frozenset[int]().union(*(cpus for each in held.values() for cpus in each.values()))
