"""The story of one decision: repeated with a recorder, and arranged for a report.

Without a topology policy, the Memory Manager searches for a set when it allocates, so its search is
part of the allocation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from numalet.core.admission import counting
from numalet.core.admission.decision import Decision
from numalet.core.admission.recorder import (
    Allocated,
    Collector,
    HintsAsked,
    HintsMerged,
    RefusedAllocation,
)
from numalet.core.admission.roster import Roster
from numalet.core.config.rules import Scope
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import ZERO_HINT, Reason
from numalet.core.managers.memory.ledger import Blocks
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value, field
from numalet.core.node.node import Node
from numalet.insight.explain import considered_sets, ranking
from numalet.insight.explain.considered_sets import MEMORY_MANAGER, ProviderAnswer
from numalet.insight.explain.ranking import Ranking


class AlignedSubject(Value):
    """The subject of one alignment: a container by its name, or ``pod``."""

    name: str
    answers: tuple[ProviderAnswer, ...]
    ranking: Ranking | None
    merged: Merged


class AllocatedResources(Value):
    """The allocation of one container: memory by node set, CPUs by node, devices by resource.

    ``considered`` are the sets among which the Memory Manager chose, if the topology policy had not
    chosen.
    """

    container: str
    memory: Blocks = ()
    cpus: Mapping[int, CpuSet] = field(default_factory=dict)
    devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    considered: ProviderAnswer | None = None


class AllocationRefusal(Value):
    """The refused allocation, and the sets that the Memory Manager had tried."""

    container: str
    provider: str
    reason: Reason
    considered: ProviderAnswer | None = None


class Story(Value):
    decision: Decision
    roster: Roster
    subjects: tuple[AlignedSubject, ...]
    allocated: tuple[AllocatedResources, ...]
    refusal: AllocationRefusal | None


def trace(node: Node, pod: Pod) -> Story:
    collector = Collector()
    _, decision = node.admit(pod, collector)
    roster = node.roster
    seen = counting.for_managers(decision.pod, roster.rules.release_rules)
    asked: dict[str, HintsAsked] = {}
    subjects: list[AlignedSubject] = []
    allocated: dict[str, AllocatedResources] = {}
    refusal: AllocationRefusal | None = None
    for event in collector.events:
        match event:
            case HintsAsked(subject=name):
                asked[name] = event
            case HintsMerged(name, merged):
                subjects.append(_subject(roster, seen, asked[name], merged))
            case RefusedAllocation(container, provider, reason):
                considered = None
                if provider == MEMORY_MANAGER:
                    considered = considered_sets.memory_answer(
                        roster, decision.after.memory, seen, container
                    )
                refusal = AllocationRefusal(container.name, provider, reason, considered)
            case Allocated():
                before = allocated.get(
                    event.container.name, AllocatedResources(event.container.name)
                )
                allocated[event.container.name] = _after_allocation(
                    roster, decision, event, seen, before
                )
            case _:
                assert_never(event)
    return Story(decision, roster, tuple(subjects), tuple(allocated.values()), refusal)


def _subject(roster: Roster, pod: Pod, asked: HintsAsked, merged: Merged) -> AlignedSubject:
    containers = {container.name: container for container in pod.containers()}
    is_pod = roster.rules.topology.scope is Scope.POD
    container = None if is_pod else containers[asked.subject]
    return AlignedSubject(
        asked.subject,
        considered_sets.answers(
            roster, asked.snapshot, pod, container, asked.hints, merged.affinity.mask
        ),
        ranking.rank(roster, tuple(asked.hints.values())),
        merged,
    )


def _after_allocation(
    roster: Roster, decision: Decision, event: Allocated, pod: Pod, so_far: AllocatedResources
) -> AllocatedResources:
    key = ContainerKey(decision.pod.uid, event.container.name)
    after = event.after
    cpus = after.cpu.cpus_of(*key) or frozenset()
    devices = after.device.records.get(key.pod_uid, {}).get(key.container, {})
    considered = so_far.considered
    affinity = decision.affinities.get(key.container, ZERO_HINT)
    # Without an affinity the Memory Manager searched itself; equal snapshots mean a reused
    # allocation.
    if event.provider == MEMORY_MANAGER and affinity.mask is None and event.before != after:
        considered = considered_sets.memory_answer(
            roster, event.before.memory, pod, event.container
        )
    return AllocatedResources(
        container=key.container,
        memory=after.memory.blocks_of(*key) or (),
        cpus=_by_node(roster, cpus),
        devices={name: tuple(sorted(held.device_ids)) for name, held in sorted(devices.items())},
        considered=considered,
    )


def _by_node(roster: Roster, cpus: CpuSet) -> dict[int, CpuSet]:
    by_node = {
        node.node_id: cpus & {cpu for core in node.cores for cpu in core.threads}
        for node in roster.rules.machine.nodes
    }
    return {node_id: by_node[node_id] for node_id in sorted(by_node) if by_node[node_id]}
