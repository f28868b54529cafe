"""Figures of a node and its placements, to compare variants.

*Span* of a pod: the NUMA nodes of its memory, CPUs and devices. *Stranded*: free on a NUMA node on
which no pod of the listed kinds would get an allocation any more.
"""

from __future__ import annotations

from collections.abc import Iterable

from numalet.core.admission import counting
from numalet.core.admission.decision import Allocated, Collector, HintsAsked
from numalet.core.admission.roster import Roster
from numalet.core.model import numa_mask
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Pod
from numalet.core.model.value import OutputDocument, replace
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.explain import considered_sets, ranking, story

_PROBE = "numalet-one-more"
"""Uid of the pod of this test; no real pod has it."""


def span_of(roster: Roster, snapshot: Snapshot, pod: Pod) -> NumaMask:
    span = numa_mask.EMPTY
    for blocks in snapshot.memory.blocks.get(pod.uid, {}).values():
        for block in blocks:
            span |= numa_mask.of(block.nodes)
    for held in snapshot.device.records.get(pod.uid, {}).values():
        for record in held.values():
            span |= numa_mask.of(node for node in record.by_node if node >= 0)
    cpus = frozenset().union(*snapshot.cpu.exclusive.get(pod.uid, {}).values())
    return span | numa_mask.of(node for node, ids in cpus_by_node(roster).items() if ids & cpus)


def cpus_by_node(roster: Roster) -> dict[int, frozenset[int]]:
    machine = roster.rules.machine
    by_node = {
        node.node_id: frozenset(cpu for core in node.cores for cpu in core.threads)
        for node in machine.nodes
    }
    return {node_id: by_node[node_id] for node_id in machine.node_ids}


def groups(snapshot: Snapshot) -> tuple[NumaMask, ...]:
    node_groups = {node.group for node in snapshot.memory.nodes.values() if node.assignments}
    return tuple(sorted(group for group in node_groups if group.bit_count() > 1))


def mean_distance(machine: MachineInfo, span: NumaMask) -> float | None:
    """Return the mean distance over all ordered pairs of a span, in the kernel's units.

    A node's distance to itself is included. No value if the span is empty or distances are unknown.
    """
    node_ids = numa_mask.ids(span)
    rows = {node.node_id: node.distances for node in machine.nodes}
    places = {node_id: place for place, node_id in enumerate(machine.node_ids)}
    total = 0
    for one in node_ids:
        row = rows[one]
        if row is None or len(row) != len(places):
            return None
        total += sum(row[places[other]] for other in node_ids)
    return total / len(node_ids) ** 2 if node_ids else None


class StrandedDocument(OutputDocument):
    """Free resources of a NUMA node that no pod can get: bytes by type, number of CPUs."""

    node: int
    memory_bytes: dict[str, int]
    cpus: int


def stranded(node: Node, pods: Iterable[Pod]) -> list[StrandedDocument]:
    """Return the stranded resources of each NUMA node, if all further pods are like these."""
    node = node.release_stale()
    # One more admission per kind of pod decides, because free sums do not.
    in_reach = _in_reach(node, pods)
    free = free_cpus(node)
    unreachable = []
    for node_id in node.rules.machine.node_ids:
        out_of_reach = not in_reach >> node_id & 1
        memory = node.snapshot.memory.nodes.get(node_id)
        tables = {} if memory is None else memory.tables
        unreachable.append(
            StrandedDocument(
                node_id,
                {name: table.free if out_of_reach else 0 for name, table in tables.items()},
                len(free.get(node_id, ())) if out_of_reach else 0,
            )
        )
    return unreachable


def free_cpus(node: Node) -> dict[int, frozenset[int]]:
    """Return allocatable free CPUs by NUMA node; empty without exclusive CPUs."""
    policy = node.roster.static_cpus
    if policy is None:
        return {}
    free = node.snapshot.cpu.default & policy.allocatable
    return {node_id: cpus & free for node_id, cpus in cpus_by_node(node.roster).items()}


def _in_reach(node: Node, pods: Iterable[Pod]) -> NumaMask:
    kinds = {_kind(pod): pod for pod in pods}
    reach = numa_mask.EMPTY
    for pod in kinds.values():
        reach |= _reach_of(node, replace(pod, uid=_PROBE))
    return reach


def _kind(pod: Pod) -> object:
    """Return a key that is equal for pods that the managers treat alike."""
    return (
        pod.qos_class,
        tuple(
            (
                container.kind,
                *((name, str(each)) for name, each in sorted(container.requests.items())),
                None,
                *((name, str(each)) for name, each in sorted(container.limits.items())),
            )
            for container in pod.containers()
        ),
    )


def _reach_of(node: Node, pod: Pod) -> NumaMask:
    """Return the NUMA nodes on which one more such pod could get resources; 0 if rejected."""
    collector = Collector()
    _, decision = node.admit(pod, collector)
    if not decision.admitted:
        return numa_mask.EMPTY
    roster = node.roster
    reach = span_of(roster, decision.after, pod)
    seen = counting.for_managers(decision.pod, roster.rules.release_rules)
    for event in collector.events:
        match event:
            case HintsAsked(hints=hints):
                # Every finalist is reachable, not only the chosen one: another one may win for
                # the next pod.
                ranked = ranking.rank(roster, tuple(hints.values()))
                for finalist in ranked.finalists if ranked is not None else ():
                    reach |= finalist.mask or numa_mask.EMPTY
            case Allocated() if story.searched_itself(decision, event):
                ledger = event.before.memory
                for mask in considered_sets.memory_sets(roster, ledger, seen, event.container):
                    reach |= mask
    # A pod without allocations may run everywhere.
    return reach or roster.all_nodes
