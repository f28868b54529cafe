"""The story of one decision: repeated with a recorder, and arranged for a report.

Without a topology policy, the Memory Manager searches for a set when it allocates, so its search is
part of the allocation.
"""

from __future__ import annotations

from typing import assert_never

from numalet.core.admission import counting
from numalet.core.admission.decision import (
    Allocated,
    Collector,
    Decision,
    HintsAsked,
    HintsMerged,
    RefusedAllocation,
)
from numalet.core.admission.roster import Roster
from numalet.core.config.rules import Scope
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import ZERO_HINT
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value
from numalet.insight.explain import considered_sets, ranking
from numalet.insight.explain.cases import Case
from numalet.insight.explain.considered_sets import MEMORY_MANAGER, NameOf
from numalet.insight.explain.explanation_types import (
    AllocatedDocument,
    ExplanationBlockDocument,
    ExplanationMergedDocument,
    RefusalDocument,
    SubjectDocument,
    hint_of,
    reason_of,
)


class Story(Value):
    decision: Decision
    roster: Roster
    subjects: list[SubjectDocument]
    allocated: list[AllocatedDocument]
    refusal: RefusalDocument | None


def trace(case: Case) -> Story:
    collector = Collector()
    node = case.node
    _, decision = node.admit(case.pod, collector)
    roster = node.roster
    seen = counting.for_managers(decision.pod, roster.rules.release_rules)
    asked: dict[str, HintsAsked] = {}
    subjects: list[SubjectDocument] = []
    allocated: dict[str, AllocatedDocument] = {}
    refusal: RefusalDocument | None = None
    for event in collector.events:
        match event:
            case HintsAsked(subject=name):
                asked[name] = event
            case HintsMerged(name, merged):
                subjects.append(_subject(roster, seen, asked[name], merged, case.name_of))
            case RefusedAllocation(container, provider, reason):
                considered = None
                if provider == MEMORY_MANAGER:
                    considered = considered_sets.memory_answer(
                        roster, decision.after.memory, seen, container, case.name_of
                    )
                refusal = RefusalDocument(container.name, provider, reason_of(reason), considered)
            case Allocated():
                name = event.container.name
                held = _after_allocation(roster, decision, event)
                if name in allocated:
                    held.chosen_among = allocated[name].chosen_among
                if searched_itself(decision, event):
                    held.chosen_among = considered_sets.memory_answer(
                        roster, event.before.memory, seen, event.container, case.name_of
                    )
                allocated[name] = held
            case _:
                assert_never(event)
    return Story(decision, roster, subjects, list(allocated.values()), refusal)


def searched_itself(decision: Decision, event: Allocated) -> bool:
    """Return whether the Memory Manager searched for a set of nodes, without an affinity."""
    affinity = decision.affinities.get(event.container.name, ZERO_HINT)
    # Equal snapshots mean a reused allocation.
    return (
        event.provider == MEMORY_MANAGER and affinity.mask is None and event.before != event.after
    )


def _subject(
    roster: Roster, pod: Pod, asked: HintsAsked, merged: Merged, name_of: NameOf
) -> SubjectDocument:
    containers = {container.name: container for container in pod.containers()}
    is_pod = roster.rules.topology.scope is Scope.POD
    container = None if is_pod else containers[asked.subject]
    ranked = ranking.rank(roster, tuple(asked.hints.values()))
    chosen = hint_of(merged.affinity)
    return SubjectDocument(
        subject=asked.subject,
        answers=considered_sets.answers(
            roster, asked.snapshot, pod, container, asked.hints, merged.affinity.mask, name_of
        ),
        finalists=None if ranked is None else list(map(hint_of, ranked.finalists)),
        wanted_size=None if ranked is None else ranked.wanted_size,
        by_distance=None if ranked is None else ranked.by_distance,
        merged=ExplanationMergedDocument(
            chosen.nodes, chosen.preferred, merged.admit, merged.bounded
        ),
    )


def _after_allocation(roster: Roster, decision: Decision, event: Allocated) -> AllocatedDocument:
    key = ContainerKey(decision.pod.uid, event.container.name)
    after = event.after
    cpus = after.cpu.cpus_of(*key) or frozenset()
    devices = after.device.records.get(key.pod_uid, {}).get(key.container, {})
    return AllocatedDocument(
        container=key.container,
        memory=[
            ExplanationBlockDocument(list(block.nodes), block.resource, block.size_bytes)
            for block in after.memory.blocks_of(*key) or ()
        ],
        cpus_by_node=_by_node(roster, cpus),
        devices={name: sorted(held.device_ids) for name, held in sorted(devices.items())},
        chosen_among=None,
    )


def _by_node(roster: Roster, cpus: CpuSet) -> dict[str, str]:
    by_node = {
        node.node_id: cpus & {cpu for core in node.cores for cpu in core.threads}
        for node in roster.rules.machine.nodes
    }
    return {str(each): cpu_set.text(by_node[each]) for each in sorted(by_node) if by_node[each]}
