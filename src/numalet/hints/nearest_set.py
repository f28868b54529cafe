"""The closest set of a given size that can be had: for prefer-closest-numa-nodes.

The order is (distance, integer), and no part of a set decides its distance. So this is branch
and bound over the nodes from the highest down, each left out before it is taken: of sets with
equal distance the lowest is met first, and a branch that can not become *closer* than what was
found is cut. The bound: every node still to come is at least as far from the others as its
nearest nodes are. With distances by levels (same board, same socket) the bound is sharp. A branch
is cut as well if one before it stood as far from all nodes to come and was no harder to complete:
what it found, or failed to find, is at least as good. Nodes of one board thereby count as numbers.

What can be had is asked of a ``Terms``: sets that meet requirements, or sets that remain when
families take nodes away.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from numalet.hints import remaining_set
from numalet.hints.fitness import Distances
from numalet.hints.lowest_set import Lacking, LowestSet
from numalet.hints.near_sets import Field, Places
from numalet.hints.remaining_set import Remaining
from numalet.hints.sharing_out import BudgetUsedUp, SharingOut
from numalet.model import numa_mask
from numalet.model.numa_mask import NumaMask

S = TypeVar("S")

_Distances: TypeAlias = tuple[int, int, tuple[int, ...]]
"""All that distances know of a branch: nodes to come, distance so far, what each would add."""


class Terms(Protocol[S]):
    """What can be had. A state says what the nodes decided so far, the higher ones, come to."""

    @property
    def node_ids(self) -> Sequence[int]:
        """The nodes to decide, ascending; a place is an index here."""
        ...

    @property
    def fixed(self) -> NumaMask:
        """Nodes that are in every set."""
        ...

    @property
    def start(self) -> S:
        """The state when nothing is decided."""
        ...

    def may_work(self, places: int, count: int, state: S) -> bool:
        """Whether ``count`` of the first ``places`` nodes may still work; no is certain."""
        ...

    def taken(self, place: int, state: S) -> S:
        """The state when this node is taken."""
        ...

    def left_out(self, place: int, state: S) -> S:
        """The state when this node is left out."""
        ...

    def hardness(self, places: int, state: S) -> tuple[Hashable, Lacking]:
        """How hard it is to complete the state with the first ``places`` nodes.

        Of two states with the same first part, whatever completes the one completes the other if
        no number of the other is larger.
        """
        ...

    def works(self, mask: NumaMask) -> bool:
        """Whether this set can be had."""
        ...

    def surely_works(self, mask: NumaMask) -> bool:
        """Whether this set can be had, as far as that is quick to say; yes is certain."""
        ...


@dataclass(frozen=True, slots=True)
class Meeting:
    """Sets that meet requirements."""

    sets: LowestSet

    @property
    def node_ids(self) -> Sequence[int]:
        return self.sets.node_ids

    @property
    def fixed(self) -> NumaMask:
        return self.sets.mandatory

    @property
    def start(self) -> tuple[Lacking, int]:
        return self.sets.start, 0

    def may_work(self, places: int, count: int, state: tuple[Lacking, int]) -> bool:
        return self.sets.may_be_met(places, count, state[0])

    def taken(self, place: int, state: tuple[Lacking, int]) -> tuple[Lacking, int]:
        return self.sets.taking(place, *state)

    def left_out(self, place: int, state: tuple[Lacking, int]) -> tuple[Lacking, int]:
        return state

    def hardness(self, places: int, state: tuple[Lacking, int]) -> tuple[Hashable, Lacking]:
        lacking, touched = state
        return touched & self.sets.touched_below[places], lacking

    def works(self, mask: NumaMask) -> bool:
        return self.sets.is_met_by(mask)

    def surely_works(self, mask: NumaMask) -> bool:
        return self.sets.is_met_by(mask)


class Taken(NamedTuple):
    """Nodes that were taken away: how many of each kind, and their cost by bound."""

    out: NumaMask
    kinds: int
    costs: tuple[int, ...]


class Left:
    """Sets that remain when families take nodes away; the state is what was taken."""

    def __init__(self, problem: SharingOut) -> None:
        self.problem = problem
        self.node_ids: Sequence[int] = numa_mask.ids(problem.ground)
        self.fixed = numa_mask.EMPTY
        self.start = Taken(numa_mask.EMPTY, 0, (0,) * len(problem.bounds))
        bits = [1 << node_id for node_id in self.node_ids]
        # A number of so many digits, one for each kind, counts up to all nodes without carrying.
        digits = len(bits).bit_length()
        self._kind_of = [1 << problem.kinds[bit] * digits for bit in bits]
        self._costs_of = [
            tuple(0 if bit & problem.costless else costs[bit] for costs, _ in problem.bounds)
            for bit in bits
        ]
        self._most = [
            sum(map(int.__mul__, weights, problem.start.slack)) for _, weights in problem.bounds
        ]
        self._cheapest: dict[int, list[list[int]]] = {}

    def may_work(self, places: int, count: int, state: Taken) -> bool:
        self.problem.budget.spend()
        cheapest = self._cheapest.get(places)
        if cheapest is None:
            columns = zip(*self._costs_of[:places], strict=True)
            cheapest = [[*accumulate(sorted(column), initial=0)] for column in columns]
            self._cheapest[places] = cheapest
        leave = places - count
        return all(
            taken + sums[leave] <= most
            for taken, sums, most in zip(state.costs, cheapest, self._most, strict=True)
        )

    def taken(self, place: int, state: Taken) -> Taken:
        return state

    def left_out(self, place: int, state: Taken) -> Taken:
        return Taken(
            state.out | 1 << self.node_ids[place],
            state.kinds + self._kind_of[place],
            tuple(map(int.__add__, state.costs, self._costs_of[place])),
        )

    def hardness(self, places: int, state: Taken) -> tuple[Hashable, Lacking]:
        # With several families it matters which nodes were taken, not only what they cost: the
        # costs by bound are those of whoever can do without a node most easily.
        return ((), state.costs) if self.problem.is_a_sum else (state.kinds, ())

    def works(self, mask: NumaMask) -> bool:
        out = self.problem.ground & ~mask
        return (
            self.problem.can_be_shared_greedily(out)
            or self.problem.share(out, numa_mask.EMPTY, 0) is not None
        )

    def surely_works(self, mask: NumaMask) -> bool:
        return self.problem.can_be_shared_greedily(self.problem.ground & ~mask)


class _BranchAndBound(Generic[S]):
    """One search. ``found`` is the best set so far, at distance ``limit`` or the limit itself."""

    def __init__(self, terms: Terms[S], size: int, distances: Distances, known: NumaMask) -> None:
        self.terms = terms
        self.size = size
        self.distances = distances
        ids, rows = terms.node_ids, distances.rows
        fixed = numa_mask.ids(terms.fixed)
        self.field = Field(
            pairs=[[rows[i][j] + rows[j][i] for j in ids] for i in ids],
            alone=[rows[i][i] + sum(rows[i][j] + rows[j][i] for j in fixed) for i in ids],
        )
        self.doubled_pairs = [[2 * far for far in row] for row in self.field.pairs]
        self.found = known
        # A set as close as the known one may still be lower, so only what is beyond is cut.
        self.limit = distances.total(known) + 1
        self._nearest_of: dict[tuple[int, int], list[int]] = {}
        self._exhausted: set[_Distances] = set()
        self._seen: dict[Hashable, list[Lacking]] = {}

    def run(self) -> NumaMask:
        """The best set."""
        count = self.size - self.terms.fixed.bit_count()
        so_far = self.distances.total(self.terms.fixed)
        places = len(self.terms.node_ids)
        to_chosen = [2 * far for far in self.field.alone]
        if self._bound(places, count, so_far, to_chosen) < self.limit - 1:
            self._begin_closer(count)
        self._search(places, count, self.terms.fixed, so_far, to_chosen, self.terms.start)
        return self.found

    def _begin_closer(self, count: int) -> None:
        """Find a closer set than the one at hand, if that is easy."""
        ids = self.terms.node_ids

        def mask_of(places: Places) -> NumaMask:
            return self.terms.fixed | numa_mask.of(ids[place] for place in places)

        def works(places: Places) -> bool:
            return self.terms.surely_works(mask_of(places))

        known = frozenset(place for place, node in enumerate(ids) if self.found >> node & 1)
        for places in (self.field.exchanged(known, works), *self.field.grown(count)):
            mask = mask_of(places)
            distance = self.distances.total(mask)
            if distance + 1 < self.limit and works(places):
                self.found, self.limit = mask, distance + 1

    def _search(
        self, places: int, count: int, chosen: NumaMask, so_far: int, far: list[int], state: S
    ) -> bool:
        """Improve ``found`` with ``count`` of the first ``places`` nodes added to the chosen.

        ``far`` has, for each of these places, twice what its node would add to ``so_far``. The
        answer is whether distances alone say that there is nothing closer now: then there is not
        either, whatever the state, where the distances are the same.
        """
        if count > places or self._bound(places, count, so_far, far) >= self.limit:
            return True
        if count == 0:
            if self.terms.works(chosen):
                self.found, self.limit = chosen, so_far
                return True
            return False
        distances = (count, so_far, tuple(far))
        if distances in self._exhausted:
            return True
        if not self.terms.may_work(places, count, state):
            return False
        if self._was_no_harder(distances, state):
            return False
        last = places - 1
        left_out = self.terms.left_out(last, state)
        without = self._search(last, count, chosen, so_far, far[:last], left_out)
        farther = list(map(int.__add__, far[:last], self.doubled_pairs[last]))
        node = 1 << self.terms.node_ids[last]
        taken = self.terms.taken(last, state)
        added = far[last] // 2
        having = self._search(last, count - 1, chosen | node, so_far + added, farther, taken)
        if without and having:
            self._exhausted.add(distances)
        return without and having

    def _was_no_harder(self, distances: _Distances, state: S) -> bool:
        """Whether a branch before this one had the same distances and was no harder."""
        kind, numbers = self.terms.hardness(len(distances[2]), state)
        seen = self._seen.setdefault((distances, kind), [])
        if any(all(map(int.__le__, earlier, numbers)) for earlier in seen):
            return True
        seen.append(numbers)
        return False

    def _bound(self, places: int, count: int, so_far: int, far: list[int]) -> int:
        """No set with ``count`` more nodes is closer than this."""
        if count == 0:
            return so_far
        nearest = self._nearest_of.get((places, count))
        if nearest is None:
            nearest = self._nearest_of[places, count] = self._nearest(places, count - 1)
        # A pair among the nodes to come counts half for each of its nodes.
        doubled = sorted(map(int.__add__, far, nearest))
        return so_far + (sum(doubled[:count]) + 1) // 2

    def _nearest(self, places: int, count: int) -> list[int]:
        """For each of the first ``places`` nodes: the nearest ``count`` of the others together."""
        return [
            sum(sorted(row[:at] + row[at + 1 : places])[:count])
            for at, row in enumerate(self.field.pairs[:places])
        ]


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
    search = _BranchAndBound(Left(problem), start.mask.bit_count(), distances, start.mask)
    try:
        return Remaining(search.run(), start.exact)
    except BudgetUsedUp:
        return Remaining(search.found, False)
