"""Search changes that would have admitted or aligned a pod, category by category.

Within a category, offers without a cost for other pods are first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import Scope, StartRefused, TopologyPolicy
from numalet.insight.explain import change as changes
from numalet.insight.explain import measures, queue, smaller
from numalet.insight.explain.case import Case
from numalet.insight.explain.change import (
    ChangeOutcome,
    NoTopology,
    OtherMachine,
    OtherTopology,
    WithoutContainer,
)
from numalet.insight.explain.story import Story
from numalet.insight.explain.tally import Category, Goal, Tally, admitted

KeepGoing: TypeAlias = Callable[[], bool]


def search(case: Case, traced: Story, keep_going: KeepGoing) -> Iterator[Tally]:
    """Yield each category when it is complete, cheapest first. ``traced`` is the pod's story.

    Nothing is searched for a pod that is admitted and aligned.
    """
    goal = _goal(traced)
    if goal is None:
        return
    for category, searched in _SEARCHES.items():
        tally = Tally(category, keep_going, goal)
        searched(case, traced, tally)
        tally.offers.sort(key=lambda offer: len(offer.outcome.lost))
        yield tally


def _goal(traced: Story) -> Goal | None:
    """Return admission for a rejected pod, alignment for one that is not aligned.

    Without a topology policy a pod is aligned if it is on one NUMA node.
    """
    decision = traced.decision
    if not decision.admitted:
        return admitted
    span = measures.span_of(traced.roster, decision.after, decision.pod).bit_count()
    if _is_preferred(decision) and (decision.alignments or span < 2):
        return None

    def aligned(result: ChangeOutcome) -> bool:
        # A change that also refuses the pod is not an improvement.
        other = result.decision
        if isinstance(other, StartRefused) or not (other.admitted and _is_preferred(other)):
            return False
        return bool(other.alignments) if decision.alignments else result.span.bit_count() < span

    return aligned


def _is_preferred(decision: Decision) -> bool:
    merged = (each.merged for each in decision.alignments.values())
    return all(each is not None and each.affinity.preferred for each in merged)


def _policies_and_scopes(case: Case, _: Story, tally: Tally) -> None:
    """Try the other scope first, then the other policies, the strictest first."""
    now = case.config.topology_manager_policy, case.config.topology_manager_scope
    policies = [each.value for each in reversed(TopologyPolicy) if each is not TopologyPolicy.NONE]
    for policy in sorted(policies, key=lambda each: each != now[0]):
        for scope in sorted((each.value for each in Scope), key=lambda each: each != now[1]):
            if (policy, scope) != now:
                tally.attempt(case, OtherTopology(policy, scope))
    if now[0] != TopologyPolicy.NONE.value:
        tally.attempt(case, NoTopology())


def _whole_units(case: Case, _: Story, tally: Tally) -> None:
    for part in smaller.parts(case):
        change = part.in_whole_units()
        if change is not None:
            tally.attempt(case, change)


def _smaller_requests(case: Case, traced: Story, tally: Tally) -> None:
    for part in smaller.parts(case):
        whole = part.in_whole_units()
        if whole is not None and tally.reaches_goal(case, whole):
            # Only the fraction is refused, so whole units suffice; "one unit more is refused" would
            # be false.
            continue
        change = smaller.SmallerRequestSearch(case, part, tally).largest(traced)
        if change is not None:
            tally.offer(change, changes.outcome(case, change))


def _fewer_containers(case: Case, _: Story, tally: Tally) -> None:
    pod = case.pod
    # A pod needs at least one app container.
    droppable = [*pod.init_containers, *(pod.app_containers if len(pod.app_containers) > 1 else ())]
    for container in droppable:
        tally.attempt(case, WithoutContainer(container.name))


def _other_machines(case: Case, _: Story, tally: Tally) -> None:
    for position, neighbour in enumerate(case.fleet):
        tally.attempt(case, OtherMachine(position, neighbour.name))


_SEARCHES: Mapping[Category, Callable[[Case, Story, Tally], None]] = {
    Category.POLICY_OR_SCOPE: _policies_and_scopes,
    Category.WHOLE_UNITS: _whole_units,
    Category.SMALLER_REQUEST: _smaller_requests,
    Category.FEWER_CONTAINERS: _fewer_containers,
    Category.FREED_PODS: lambda case, _, tally: queue.freeing(case, tally),
    Category.QUEUE_ORDER: lambda case, _, tally: queue.ordering(case, tally),
    Category.OTHER_MACHINE: _other_machines,
}
