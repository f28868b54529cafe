"""The closest set of a given size that can be had: for prefer-closest-numa-nodes.

The order is (distance, integer), and no part of a set decides its distance. So this is branch
and bound over the nodes from the highest down, the lowest way to go on first: of sets with equal
distance the lowest is met first, and a branch that can not become *closer* than what was found is
cut. The bound: every node still to come is at least as far from the others as its nearest nodes
are. With distances by levels (same board, same socket) the bound is sharp. A branch is cut as well
if one before it stood as far from all nodes to come and was no harder to complete: what it found,
or failed to find, is at least as good. Nodes of one board thereby count as numbers; where it does
not matter either which of them are left out, they are decided in one *step*.

What can be had is asked of ``nearest_terms``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import accumulate
from typing import Generic, TypeAlias, TypeVar

from numalet.core.hints import remaining_set
from numalet.core.hints.fitness import Distances
from numalet.core.hints.lowest_set import Lacking, LowestSet
from numalet.core.hints.multi_knapsack import BudgetUsedUp, SharingOut
from numalet.core.hints.near_sets import DistanceTable, Places
from numalet.core.hints.nearest_terms import Left, Meeting, Terms
from numalet.core.hints.remaining_set import Remaining
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

S = TypeVar("S")

_MOST_EXCHANGED = 6
"""So many sets are bettered by exchanges before a search that takes long."""
_EASY = 5000
"""A search that visits no more nodes than these needs no better beginning."""

_Distances: TypeAlias = tuple[int, int, tuple[int, ...]]
"""All that distances know of a branch: nodes to come, distance so far, what each would add."""


class _Step(Value):
    """Places from ``first`` to before ``end``, which distances do not distinguish.

    ``ways`` to take some of their nodes, with how many, the lowest set first. ``pairs`` has the
    distance of one of them to one node of every step, there and back; to another one of its own.
    ``farther`` is what so many of them add to the ``far`` of the steps before this one.
    """

    first: int
    end: int
    ways: list[tuple[NumaMask, int]]
    pairs: list[int]
    farther: list[list[int]]

    @property
    def size(self) -> int:
        """How many nodes are decided."""
        return self.end - self.first


class _BranchAndBound(Generic[S]):
    """One search. ``found`` is the best set so far, at distance ``limit`` or the limit itself."""

    def __init__(self, terms: Terms[S], size: int, distances: Distances, known: NumaMask) -> None:
        self.terms = terms
        self.size = size
        self.distances = distances
        ids, rows = terms.node_ids, distances.rows
        fixed = numa_mask.ids(terms.fixed)
        self.field = DistanceTable(
            pairs=[[rows[i][j] + rows[j][i] for j in ids] for i in ids],
            alone=[rows[i][i] + sum(rows[i][j] + rows[j][i] for j in fixed) for i in ids],
        )
        self.steps = self._all_steps()
        self.sizes = [step.size for step in self.steps]
        self.one_by_one = all(size == 1 for size in self.sizes)
        self.best = known
        # A set as close as the known one may still be lower, so only what is beyond is cut.
        self.limit = distances.total(known) + 1
        self._nearest_of: dict[tuple[int, int], list[int]] = {}
        self._sums_of: dict[int, list[list[int]]] = {}
        self._exhausted: set[_Distances] = set()
        self._seen: dict[Hashable, list[Lacking]] = {}

    def run(self) -> NumaMask:
        """The best set."""
        count = self.size - self.terms.fixed.bit_count()
        so_far = self.distances.total(self.terms.fixed)
        to_chosen = [2 * self.field.alone[step.first] for step in self.steps]
        if self._bound(len(self.steps), count, so_far, to_chosen) < self.limit - 1:
            self._begin_closer(count)
        start = self.terms.start
        self._search(len(self.steps), count, self.terms.fixed, so_far, to_chosen, start)
        return self.best

    def _begin_closer(self, count: int) -> None:
        """Find a closer set than the one at hand, if that is easy."""
        self._exchange([self._places_of(self.best)])
        self._begin_with(self.field.grown(count, range(len(self.terms.node_ids))))

    def begin_dear(self, worth: list[int]) -> None:
        """Search for a closer set by including what is worth most.

        It takes about as long as some thousand steps of the search.
        """
        count = self.size - self.terms.fixed.bit_count()
        starts = [step.first for step in self.steps]
        possible = filter(self._surely_works, set(self.field.dear(count, starts, worth)))
        ordered = sorted(possible, key=lambda each: (self._distance(each), sorted(each)))
        self._exchange(ordered[:_MOST_EXCHANGED])

    def _exchange(self, several: Iterable[Places]) -> None:
        self._begin_with(self.field.exchanged(each, self._surely_works) for each in several)

    def _begin_with(self, several: Iterable[Places]) -> None:
        """Hold the closest of these sets, if it is closer than the one that is held."""
        for places in several:
            distance = self._distance(places)
            if distance + 1 < self.limit and self._surely_works(places):
                self.best, self.limit = self._mask_of(places), distance + 1

    def _mask_of(self, places: Places) -> NumaMask:
        ids = self.terms.node_ids
        return self.terms.fixed | numa_mask.of(ids[place] for place in places)

    def _places_of(self, mask: NumaMask) -> Places:
        return frozenset(at for at, node in enumerate(self.terms.node_ids) if mask >> node & 1)

    def _surely_works(self, places: Places) -> bool:
        return self.terms.surely_works(self._mask_of(places))

    def _distance(self, places: Places) -> int:
        return self.distances.total(self._mask_of(places))

    def _search(
        self, steps: int, count: int, chosen: NumaMask, so_far: int, far: list[int], state: S
    ) -> bool:
        """Improve ``found`` with ``count`` nodes of the first ``steps`` added to the chosen.

        Distances alone do not yet say that it is hopeless. ``far`` has, for each of these steps,
        twice what one of its nodes would add to ``so_far``. The answer is whether distances alone
        say that there is nothing closer now: then there is not either, whatever the state, where
        the distances are the same.
        """
        if count == 0:
            if self.terms.works(chosen):
                self.best, self.limit = chosen, so_far
                return True
            return False
        distances = (count, so_far, tuple(far))
        if distances in self._exhausted:
            return True
        places = self.steps[steps - 1].end
        if not self.terms.may_work(places, count, state):
            return False
        if self._was_no_harder(places, distances, state):
            return False
        if self._all_ways(steps, count, chosen, so_far, far, state):
            self._exhausted.add(distances)
            return True
        return False

    def _all_ways(
        self, steps: int, count: int, chosen: NumaMask, so_far: int, far: list[int], state: S
    ) -> bool:
        """Take the last of these steps in all ways; the answer is that of ``_search``."""
        last = steps - 1
        step = self.steps[last]
        one, another = far[last], step.pairs[last]
        by_distances = True
        for added, more in step.ways:
            left = count - more
            if not 0 <= left <= step.first:
                continue
            # ``far`` counts a node twice, and each of two nodes counts their pair.
            now = so_far + (more * one + more * (more - 1) * another) // 2
            farther = list(map(int.__add__, far, step.farther[more])) if more else far[:last]
            if self._bound(last, left, now, farther) >= self.limit:
                continue
            after = self.terms.decided(step.first, step.end, added, state)
            if not self._search(last, left, chosen | added, now, farther, after):
                by_distances = False
        return by_distances

    def _was_no_harder(self, places: int, distances: _Distances, state: S) -> bool:
        """Whether a branch before this one had the same distances and was no harder."""
        kind, numbers = self.terms.hardness(places, state)
        seen = self._seen.setdefault((distances, kind), [])
        if any(all(map(int.__le__, earlier, numbers)) for earlier in seen):
            return True
        seen.append(numbers)
        return False

    def _bound(self, steps: int, count: int, so_far: int, far: list[int]) -> int:
        """No set with ``count`` more nodes is closer than this."""
        if count == 0:
            return so_far
        nearest = self._nearest_of.get((steps, count))
        if nearest is None:
            nearest = self._nearest_of[steps, count] = self._nearest(steps, count - 1)
        # A pair among the nodes to come counts half for each of its nodes.
        halves = map(int.__add__, far, nearest)
        if self.one_by_one:
            return so_far + (sum(sorted(halves)[:count]) + 1) // 2
        doubled = 0
        for each, size in sorted(zip(halves, self.sizes, strict=False)):
            doubled += each * max(0, min(size, count))
            count -= size
        return so_far + (doubled + 1) // 2

    def _nearest(self, steps: int, count: int) -> list[int]:
        """For a node of each of the first steps: the nearest ``count`` others together."""
        sums = self._sums_of.get(steps)
        if sums is None:
            sums = self._sums_of[steps] = [self._sums(steps, here) for here in range(steps)]
        return [each[count] for each in sums]

    def _sums(self, steps: int, here: int) -> list[int]:
        """What a node of a step is from its nearest 0, 1, 2 ... others of the first steps."""
        others: list[int] = []
        for at, pair in enumerate(self.steps[here].pairs[:steps]):
            others += [pair] * (self.sizes[at] - (at == here))
        return [*accumulate(sorted(others), initial=0)]

    def _all_steps(self) -> list[_Step]:
        """The nodes in steps, ascending; as many in one as are alike, from the last place down."""
        bounds = [len(self.terms.node_ids)]
        while first := bounds[-1]:
            first -= 1
            while (
                first
                and bounds[-1] - first < self.terms.most_together
                and self._alike(first - 1, first)
            ):
                first -= 1
            bounds.append(first)
        pieces = [*zip(bounds[:0:-1], bounds[-2::-1], strict=True)]
        return [self._step(at, pieces) for at in range(len(pieces))]

    def _step(self, at: int, pieces: list[tuple[int, int]]) -> _Step:
        first, end = pieces[at]
        pairs = [self.field.pairs[first][other_end - 1] for _, other_end in pieces]
        most = end - first
        farther = [[2 * more * pair for pair in pairs[:at]] for more in range(most + 1)]
        return _Step(first, end, [*self._ways(first, end)], pairs, farther)

    def _alike(self, one: int, other: int) -> bool:
        """Whether two places are equally far from every third one."""
        pairs, alone = self.field.pairs, self.field.alone
        return alone[one] == alone[other] and all(
            here == there
            for place, (here, there) in enumerate(zip(pairs[one], pairs[other], strict=True))
            if place not in (one, other)
        )

    def _ways(self, first: int, end: int) -> Iterator[tuple[NumaMask, int]]:
        """Ways to take some of these nodes; none that a lower one before it makes needless."""
        ids = self.terms.node_ids[first:end]
        kept: dict[Hashable, list[Lacking]] = {}
        for number in range(1 << len(ids)):
            added = numa_mask.of(node for at, node in enumerate(ids) if number >> at & 1)
            state = self.terms.decided(first, end, added, self.terms.start)
            kind, numbers = self.terms.hardness(first, state)
            lower = kept.setdefault((number.bit_count(), kind), [])
            if not any(all(map(int.__le__, each, numbers)) for each in lower):
                lower.append(numbers)
                yield added, number.bit_count()


def best(sets: LowestSet, size: int, distances: Distances | None) -> NumaMask | None:
    """The closest set of this size that meets all requirements; the lowest without distances."""
    lowest = sets.lowest(size)
    if lowest is None or distances is None:
        return lowest
    return _BranchAndBound(Meeting(sets), size, distances, lowest).run()


def best_remaining(
    problem: SharingOut, size: int, known: NumaMask | None, distances: Distances
) -> Remaining:
    """The closest set that can come out with ``size`` nodes, or with as few more as possible.

    Otherwise as ``remaining_set.best``.
    """
    start = remaining_set.some(problem, size, known)
    terms, mask = Left(problem), start.mask
    search = _BranchAndBound(terms, mask.bit_count(), distances, mask)
    try:
        with problem.budget.at_most(_EASY if problem.is_a_sum else problem.budget.left):
            return Remaining(search.run(), start.exact)
    except BudgetUsedUp:
        if not problem.is_a_sum:
            return Remaining(search.best, False)
    search = _BranchAndBound(terms, mask.bit_count(), distances, search.best)
    search.begin_dear(terms.worth)
    try:
        return Remaining(search.run(), start.exact)
    except BudgetUsedUp:
        return Remaining(search.best, False)
