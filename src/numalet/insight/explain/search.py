"""Search changes that would have admitted or aligned a pod, category by category.

Within a category, offers without a cost for other pods are first.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import Scope, StartRefused, TopologyPolicy
from numalet.core.model import pod_demand, resources
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import ZERO, Quantity
from numalet.insight.explain import change as changes
from numalet.insight.explain import measures, smaller
from numalet.insight.explain.cases import Case
from numalet.insight.explain.change import (
    ChangeOutcome,
    Earlier,
    NoTopology,
    OtherMachine,
    OtherTopology,
    Reordered,
    WithoutContainer,
    WithoutPods,
)
from numalet.insight.explain.explanation_types import Category
from numalet.insight.explain.story import Story
from numalet.insight.explain.tally import Goal, Offer, Tally, admitted

LARGEST_FIRST = "largest memory first"
SMALLEST_FIRST = "smallest memory first"

_MOST_REPLAYED = 4


def freeing(case: Case, tally: Tally) -> None:
    """Find the pods to delete: a single one if that suffices, else the smallest set."""
    holding = _holding(case)
    for uid in holding:
        tally.attempt(case, _without(case, (uid,)))
    if tally.offers or len(holding) < 2:
        return
    # A sufficient set limits the size of the sets to try.
    bound = _without_one_too_many(case, holding, tally)
    most = len(holding) if bound is None else len(bound)
    for uids in _sets(holding, most):
        if tally.ended_early:
            break
        if tally.attempt(case, _without(case, uids)):
            return
    if bound is not None:
        change = _without(case, bound)
        tally.offer(change, changes.outcome(case, change))


def _sets(uids: tuple[str, ...], below: int) -> Iterator[tuple[str, ...]]:
    """Yield sets of at least two and fewer than ``below`` of these, smaller ones first."""
    for size in range(2, below):
        yield from combinations(uids, size)


def _holding(case: Case) -> tuple[str, ...]:
    """Return active pods with allocations, by uid; deleting others changes nothing."""
    snapshot = case.node.snapshot
    active = {key.pod_uid for key in snapshot.active_containers()}
    held = {key.pod_uid for slot in case.node.roster.slots for key in slot.holders(snapshot)}
    return tuple(sorted(active & held - {case.pod.uid}))


def _without(case: Case, uids: Iterable[str]) -> WithoutPods:
    uids = tuple(uids)
    return WithoutPods(uids, ", ".join(map(case.name_of, uids)))


def _without_one_too_many(
    case: Case, holding: tuple[str, ...], tally: Tally
) -> tuple[str, ...] | None:
    """Return a sufficient set from which no pod can be restored, if deleting all suffices.

    If the search ends early, the set may contain superfluous pods.
    """
    if not tally.reaches_goal(case, _without(case, holding)):
        return None
    # Restore halves first, then smaller parts, finally single pods: few attempts if few pods
    # matter.
    freed = holding
    size = len(freed) // 2
    while size:
        kept = freed
        for start in range(0, len(freed), size):
            part = frozenset(freed[start : start + size])
            fewer = tuple(uid for uid in kept if uid not in part)
            if fewer and tally.reaches_goal(case, _without(case, fewer)):
                kept = fewer
        freed, size = kept, size // 2
    return freed


def ordering(case: Case, tally: Tally) -> None:
    """Find another order that costs the fewest other pods; the smallest change if several do."""
    positions = [
        position
        for position in reversed(range(len(case.queue)))
        if tally.counts_one() and tally.goal(changes.before_others(case, position))
    ]
    offers: list[Offer] = []
    # These reach the goal; only a replay of the queue shows their cost for other pods.
    orders: list[Earlier | Reordered] = [*_earlier(case, positions), *_sorted(case)]
    for change in orders:
        # The positions were counted when they were tried above.
        counts = tally.goes_on if isinstance(change, Earlier) else tally.counts_one
        if not counts():
            break
        result = changes.outcome(case, change)
        if tally.goal(result):
            offers.append(Offer(change, result))
            if not result.lost:
                break
    if offers:
        tally.offers.append(min(offers, key=lambda offer: len(offer.outcome.lost)))


def _earlier(case: Case, positions: Sequence[int]) -> Iterator[Earlier]:
    """Yield at most four of these positions, last to first: each needs a replay of the queue."""
    step = max(1, -(-len(positions) // _MOST_REPLAYED))
    for position in positions[::step]:
        yield Earlier(position, str(case.queue[position]))


def _sorted(case: Case) -> Iterator[Reordered]:
    asking = (*case.queue, case.pod)
    if len(asking) > 2:
        for name, is_reversed in ((LARGEST_FIRST, True), (SMALLEST_FIRST, False)):
            ordered = sorted(asking, key=lambda pod: _memory(pod).value, reverse=is_reversed)
            yield Reordered(tuple(pod.uid for pod in ordered), name)


def _memory(pod: Pod) -> Quantity:
    return pod_demand.effective_requests(pod).get(resources.MEMORY, ZERO)


KeepGoing: TypeAlias = Callable[[], bool]


def search(
    case: Case,
    traced: Story,
    keep_going: KeepGoing,
    among: Container[Category] = frozenset(Category),
) -> Iterator[Tally]:
    """Yield each category of ``among`` when it is complete, cheapest first.

    ``traced`` is the pod's story. Nothing is searched for a pod that is admitted and aligned.
    """
    goal = _goal(traced)
    if goal is None:
        return
    for category, searched in _SEARCHES.items():
        if category not in among:
            continue
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
    Category.FREED_PODS: lambda case, _, tally: freeing(case, tally),
    Category.QUEUE_ORDER: lambda case, _, tally: ordering(case, tally),
    Category.OTHER_MACHINE: _other_machines,
}
