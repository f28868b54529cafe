"""Changes of the queue: which pods to delete, and in which order to admit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from numalet.core.model import pod_demand, resources
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import ZERO, Quantity
from numalet.insight.explain import change as changes
from numalet.insight.explain.case import Case
from numalet.insight.explain.change import Earlier, Reordered, WithoutPods
from numalet.insight.explain.tally import Offer, Tally

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
