"""The kubelet's two gauges of the CPU Manager, which move with every event.

They are set once, at the start, and from then on each allocation and each release moves them. A
CPU that an init container leaves to a later container of its pod is allocated twice and released
once, so after such a pod both are wrong until the kubelet restarts: too many exclusive CPUs, too
small a shared pool. In native mode the gauges are read off the ledger instead; the rule is
``reused_cpus_are_counted_twice``.
Kubelet v1.32: ``initializeMetrics``, ``updateMetricsOnAllocate`` and ``updateMetricsOnRelease`` of
``staticPolicy``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model.cpu_set import CpuSet
from numalet.core.node.node import Node


@dataclass(frozen=True, slots=True)
class CpuGauges:
    """CPUs in the shared pool that could be given away, and CPUs that are."""

    shared_count: int
    exclusive_count: int


def at_start(node: Node) -> CpuGauges | None:
    """What they are set to when the CPU Manager starts; None where they do not move by events.

    CPUs that two containers of a pod have are counted for both.
    """
    if not node.rules.behaviour.reused_cpus_are_counted_twice:
        return None
    static = node.roster.static_cpus
    if static is None:
        return CpuGauges(0, 0)
    sizes = [len(cpus) for held in node.snapshot.cpu.exclusive.values() for cpus in held.values()]
    return CpuGauges(shared_count(node), sum(sizes))


def after(gauges: CpuGauges | None, before: Node, node: Node) -> CpuGauges | None:
    """They after everything that the ledger shows to have happened between two nodes."""
    old, new = before.snapshot.cpu, node.snapshot.cpu
    if gauges is None or old is new or node.roster.static_cpus is None:
        return gauges
    allocated, released = _moved(old, new)
    return CpuGauges(
        gauges.shared_count - allocated + released, gauges.exclusive_count + allocated - released
    )


def _moved(old: CpuLedger, new: CpuLedger) -> tuple[int, int]:
    """How many CPUs were allocated, and how many released."""
    allocated = released = 0
    for uid in {*old.exclusive, *new.exclusive}:
        was, has = old.exclusive.get(uid, {}), new.exclusive.get(uid, {})
        if was is has:
            continue
        allocated += sum(len(cpus) for name, cpus in has.items() if was.get(name) != cpus)
        gone = {name: cpus for name, cpus in was.items() if has.get(name) != cpus}
        kept = {name: cpus for name, cpus in was.items() if name not in gone}
        # What another container of the pod still has is not released with the first.
        released += len(_union(gone) - _union(kept))
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
    held = node.snapshot.cpu.exclusive.values()
    return len(frozenset[int]().union(*(cpus for each in held for cpus in each.values())))
