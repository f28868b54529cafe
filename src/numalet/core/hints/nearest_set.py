"""The closest feasible set of a given size, for prefer-closest-numa-nodes.

The order is (distance, integer), and the distance of a set is not a function of its parts. The
search is branch and bound over the nodes from the highest down, lowest continuation first. It
decides nodes that neither distances nor feasibility distinguish in one *step*. ``nearest_terms``
defines feasibility.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import accumulate
from typing import Generic, TypeAlias, TypeVar

from numalet.core.hints import remaining_set
from numalet.core.hints.fitness import Distances
from numalet.core.hints.lowest_set import Lacking, LowestSet
from numalet.core.hints.multi_knapsack import BudgetUsedUp, SharingOut
from numalet.core.hints.nearest_terms import DistanceTable, Left, Meeting, Places, Terms
from numalet.core.hints.remaining_set import Remaining
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

S = TypeVar("S")

_MOST_EXCHANGED = 6
"""Number of sets that exchanges improve before a long search."""
_EASY = 5000
"""Visits of the first try; a search that needs more gets better starting sets."""

_Distances: TypeAlias = tuple[int, int, tuple[int, ...]]
"""A branch by distances: nodes to add, distance so far, what each open node would add."""


class _Step(Value):
    """Places from ``first`` to before ``end``, which have equal distances to all others.

    ``ways`` are the choices of nodes with their count, the lowest set first. ``pairs`` has the
    distance of one of them to one node of every step, in both directions; for its own step, to
    another member. ``farther[n]`` is what n of them add to the ``far`` of the steps before this
    one.
    """

    first: int
    end: int
    ways: list[tuple[NumaMask, int]]
    pairs: list[int]
    farther: list[list[int]]

    @property
    def size(self) -> int:
        return self.end - self.first


class _BranchAndBound(Generic[S]):
    """One search. ``best`` is the best set so far, ``limit`` its distance (1 more at the start)."""

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
        # + 1: a set as close as the known one may be lower, so do not cut equal distances yet.
        self.limit = distances.total(known) + 1
        self._nearest_of: dict[tuple[int, int], list[int]] = {}
        self._sums_of: dict[int, list[list[int]]] = {}
        self._exhausted: set[_Distances] = set()
        self._seen: dict[Hashable, list[Lacking]] = {}

    def run(self) -> NumaMask:
        count = self.size - self.terms.fixed.bit_count()
        so_far = self.distances.total(self.terms.fixed)
        to_chosen = [2 * self.field.alone[step.first] for step in self.steps]
        if self._bound(len(self.steps), count, so_far, to_chosen) < self.limit - 1:
            self._begin_closer(count)
        start = self.terms.start
        self._search(len(self.steps), count, self.terms.fixed, so_far, to_chosen, start)
        return self.best

    def _begin_closer(self, count: int) -> None:
        self._exchange([self._places_of(self.best)])
        self._begin_with(self.field.grown(count, range(len(self.terms.node_ids))))

    def begin_dear(self, worth: list[int]) -> None:
        """Improve the start with sets that include expensive nodes.

        This takes about as long as some thousand steps of the search.
        """
        count = self.size - self.terms.fixed.bit_count()
        starts = [step.first for step in self.steps]
        possible = filter(self._surely_works, set(self.field.dear(count, starts, worth)))
        ordered = sorted(possible, key=lambda each: (self._distance(each), sorted(each)))
        self._exchange(ordered[:_MOST_EXCHANGED])

    def _exchange(self, several: Iterable[Places]) -> None:
        self._begin_with(self.field.exchanged(each, self._surely_works) for each in several)

    def _begin_with(self, several: Iterable[Places]) -> None:
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
        """Improve ``best`` by adding ``count`` nodes of the first ``steps`` to ``chosen``.

        ``far`` has, for each of these steps, twice the distance that one of its nodes would add to
        ``so_far``. Return True if distances alone rule out anything closer from now on: then every
        branch with the same distances can be cut, whatever its state.
        """
        if count == 0:
            if self.terms.works(chosen):
                self.best, self.limit = chosen, so_far
                return True
            return False
        distances = (count, so_far, tuple(far))
        # These distances ruled out anything closer before, whatever the state.
        if distances in self._exhausted:
            return True
        places = self.steps[steps - 1].end
        if not self.terms.may_work(places, count, state):
            return False
        # Dominance: an earlier branch had the same distances to all open nodes, and was at most
        # as hard to complete.
        if self._was_no_harder(places, distances, state):
            return False
        if self._all_ways(steps, count, chosen, so_far, far, state):
            self._exhausted.add(distances)
            return True
        return False

    def _all_ways(
        self, steps: int, count: int, chosen: NumaMask, so_far: int, far: list[int], state: S
    ) -> bool:
        """Try all ways of the last of these steps; return the answer of ``_search``."""
        last = steps - 1
        step = self.steps[last]
        one, another = far[last], step.pairs[last]
        by_distances = True
        # The lowest way first: of sets with equal distance the search meets the lowest first, and
        # so may cut branches that cannot become *closer*.
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
        """Dominance: whether a branch with the same distances was at most as hard to complete."""
        kind, numbers = self.terms.hardness(places, state)
        seen = self._seen.setdefault((distances, kind), [])
        if any(all(map(int.__le__, earlier, numbers)) for earlier in seen):
            return True
        seen.append(numbers)
        return False

    def _bound(self, steps: int, count: int, so_far: int, far: list[int]) -> int:
        """Return a lower bound of the distance of all sets with ``count`` more nodes."""
        if count == 0:
            return so_far
        # Every node still to add is at least as far from the others as its nearest nodes are.
        # This is sharp if distances have levels (same board, same socket).
        nearest = self._nearest_of.get((steps, count))
        if nearest is None:
            nearest = self._nearest_of[steps, count] = self._nearest(steps, count - 1)
        # ``nearest`` holds each pair of new nodes twice, once for each end; ``far`` is doubled.
        halves = map(int.__add__, far, nearest)
        if self.one_by_one:
            return so_far + (sum(sorted(halves)[:count]) + 1) // 2
        doubled = 0
        for each, size in sorted(zip(halves, self.sizes, strict=False)):
            doubled += each * max(0, min(size, count))
            count -= size
        return so_far + (doubled + 1) // 2

    def _nearest(self, steps: int, count: int) -> list[int]:
        """Return, for a node of each of the first steps, its ``count`` least distances summed."""
        sums = self._sums_of.get(steps)
        if sums is None:
            sums = self._sums_of[steps] = [self._sums(steps, here) for here in range(steps)]
        return [each[count] for each in sums]

    def _sums(self, steps: int, here: int) -> list[int]:
        """Return the sums of a node's least 0, 1, 2 ... distances to others of the first steps."""
        others: list[int] = []
        for at, pair in enumerate(self.steps[here].pairs[:steps]):
            others += [pair] * (self.sizes[at] - (at == here))
        return [*accumulate(sorted(others), initial=0)]

    def _all_steps(self) -> list[_Step]:
        """Group the nodes into steps, ascending; each has as many equal nodes as allowed."""
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
        """Return whether two places are equally far from every third one."""
        pairs, alone = self.field.pairs, self.field.alone
        return alone[one] == alone[other] and all(
            here == there
            for place, (here, there) in enumerate(zip(pairs[one], pairs[other], strict=True))
            if place not in (one, other)
        )

    def _ways(self, first: int, end: int) -> Iterator[tuple[NumaMask, int]]:
        """Yield choices among these nodes, without those that a lower choice dominates."""
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
    """Return the closest set of this size that meets all requirements, if any.

    Without distances, return the lowest one.
    """
    lowest = sets.lowest(size)
    if lowest is None or distances is None:
        return lowest
    return _BranchAndBound(Meeting(sets), size, distances, lowest).run()


def best_remaining(
    problem: SharingOut, size: int, known: NumaMask | None, distances: Distances
) -> Remaining:
    """Return the closest reachable set with ``size`` nodes, or with as few more as possible.

    The rest is as in ``remaining_set.best``.
    """
    start = remaining_set.some(problem, size, known)
    terms, mask = Left(problem), start.mask
    search = _BranchAndBound(terms, mask.bit_count(), distances, mask)
    try:
        # Most searches are short; only a long one pays for better starting sets.
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
