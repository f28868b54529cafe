"""Conditions on sets for ``nearest_set``: which sets remain possible as each node is decided.

The nodes are decided from the highest down. ``Meeting``: sets that meet requirements. ``Left``:
sets that remain when families remove nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

from numalet.core.hints.lowest_set import Lacking, LowestSet
from numalet.core.hints.multi_knapsack import SharingOut
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

# Heuristics for close sets, the starting points of the search. A closer start lets the search cut
# more branches, and improves its answer if it is stopped. The results carry no proof. A place is an
# index into the nodes that a search decides.

WORTH_MOST: Final = 1 << 10
"""Worth of the most expensive place."""

_MOST_TRIED = 200
"""Maximum number of exchanges tried; each one needs a feasibility test."""

Places: TypeAlias = frozenset[int]


class DistanceTable(Value):
    """Distances between places, in both directions, and to the place itself and the fixed nodes."""

    pairs: list[list[int]]
    alone: list[int]

    def grown(
        self, size: int, starts: Iterable[int], alone: Sequence[int] | None = None
    ) -> Iterator[Places]:
        """Yield for each start the set of this size that grows by the nearest place.

        ``alone`` replaces the table's own, to make some places seem nearer.
        """
        for start in starts:
            far = list(map(int.__add__, self.alone if alone is None else alone, self.pairs[start]))
            chosen = {start}
            while len(chosen) < size:
                rest = (place for place in range(len(far)) if place not in chosen)
                nearest = min(rest, key=lambda place: (far[place], place))
                chosen.add(nearest)
                far = list(map(int.__add__, far, self.pairs[nearest]))
            yield frozenset(chosen)

    def dear(self, size: int, starts: Sequence[int], worth: Sequence[int]) -> Iterator[Places]:
        """Yield sets grown with increasing discounts on the distance of expensive places.

        ``worth`` has each place's value as a fraction of ``WORTH_MOST``.
        """
        # An expensive node is hard to spare, so including it is worth a longer distance.
        for detours in (size // 2, size, 2 * size, 4 * size, 8 * size, 16 * size):
            longest = detours * max(map(max, self.pairs)) // 4
            nearer = [
                alone - longest * each // WORTH_MOST
                for alone, each in zip(self.alone, worth, strict=True)
            ]
            yield from self.grown(size, starts, nearer)

    def exchanged(self, chosen: Places, can_be_had: Callable[[Places], bool]) -> Places:
        """Exchange places until nothing improves the set or ``_MOST_TRIED`` is reached."""
        tries = iter(range(_MOST_TRIED))
        while True:
            closer = (
                chosen - {out} | {into}
                for _, out, into in sorted(self._exchanges(chosen))
                if next(tries, None) is not None
            )
            better = next(filter(can_be_had, closer), None)
            if better is None:
                return chosen
            chosen = better

    def _exchanges(self, chosen: Places) -> Iterator[tuple[int, int, int]]:
        """Yield improving exchanges: change of the distance (negative), place out, place in."""
        far = [alone + sum(map(row.__getitem__, chosen)) for alone, row in self._rows()]
        for out in chosen:
            # ``far`` of a member includes its pair with itself; remove it.
            without, row = far[out] - self.pairs[out][out], self.pairs[out]
            for into, added in enumerate(far):
                change = added - row[into] - without
                if change < 0 and into not in chosen:
                    yield change, out, into

    def _rows(self) -> Iterator[tuple[int, list[int]]]:
        return zip(self.alone, self.pairs, strict=True)


S = TypeVar("S")
_MOST_TOGETHER = 4


class Terms(Protocol[S]):
    """Feasibility of sets. A state summarizes the decisions on the higher nodes."""

    @property
    def node_ids(self) -> Sequence[int]:
        """The nodes to decide, ascending; a place is an index here."""
        ...

    @property
    def fixed(self) -> NumaMask: ...

    @property
    def start(self) -> S:
        """The state before any decision."""
        ...

    def may_work(self, places: int, count: int, state: S) -> bool:
        """Return False only if no ``count`` of the first ``places`` nodes complete the state."""
        ...

    @property
    def most_together(self) -> int:
        """Maximum number of nodes with equal distances in one step."""
        ...

    def decided(self, first: int, end: int, chosen: NumaMask, state: S) -> S:
        """Return the state after choosing these nodes of the places ``first`` to before ``end``."""
        ...

    def hardness(self, places: int, state: S) -> tuple[Hashable, Lacking]:
        """Return how hard it is to complete the state with the first ``places`` nodes.

        If two states have the same first part, and no number of the second is larger, everything
        that completes the first also completes the second.
        """
        ...

    def works(self, mask: NumaMask) -> bool:
        """Return whether this set is feasible."""
        ...

    def surely_works(self, mask: NumaMask) -> bool:
        """Test feasibility quickly; False proves nothing."""
        ...


class Meeting(Value):
    """Sets that meet requirements; the state is the unmet needs and the touched shared parts."""

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

    @property
    def most_together(self) -> int:
        return 1

    def decided(
        self, first: int, end: int, chosen: NumaMask, state: tuple[Lacking, int]
    ) -> tuple[Lacking, int]:
        return self.sets.with_node(first, *state) if chosen else state

    def hardness(self, places: int, state: tuple[Lacking, int]) -> tuple[Hashable, Lacking]:
        lacking, touched = state
        return touched & self.sets.touched_below[places], lacking

    def works(self, mask: NumaMask) -> bool:
        return self.sets.is_met_by(mask)

    def surely_works(self, mask: NumaMask) -> bool:
        return self.sets.is_met_by(mask)


class RemovedNodes(NamedTuple):
    """Removed nodes: their number by kind, and their cost by bound."""

    out: NumaMask
    kinds: int
    costs: tuple[int, ...]


class Left:
    """Sets that remain when families remove nodes; the state is the removed nodes."""

    def __init__(self, problem: SharingOut) -> None:
        self.problem = problem
        self.node_ids: Sequence[int] = numa_mask.ids(problem.ground)
        self.fixed = numa_mask.EMPTY
        self.start = RemovedNodes(numa_mask.EMPTY, 0, (0,) * len(problem.bounds))
        bits = [1 << node_id for node_id in self.node_ids]
        # ``kinds`` packs one counter per kind into an integer, each wide enough for all nodes.
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
        self._changes: dict[tuple[int, int, NumaMask], RemovedNodes] = {}

    @property
    def worth(self) -> list[int]:
        """The cost of leaving out each node, as a fraction of ``WORTH_MOST``."""
        given = [min(costs[0], self._most[0]) for costs in self._costs_of]
        most = max([*given, 1])
        return [WORTH_MOST * each // most for each in given]

    def may_work(self, places: int, count: int, state: RemovedNodes) -> bool:
        self.problem.budget.spend()
        cheapest = self._cheapest.get(places)
        if cheapest is None:
            columns = zip(*self._costs_of[:places], strict=True)
            cheapest = [[*accumulate(sorted(column), initial=0)] for column in columns]
            self._cheapest[places] = cheapest
        leave = places - count
        return all(
            cost + sums[leave] <= most
            for cost, sums, most in zip(state.costs, cheapest, self._most, strict=True)
        )

    @property
    def most_together(self) -> int:
        # With several families, choices rarely dominate each other, so steps would not pay.
        return _MOST_TOGETHER if self.problem.is_a_sum else 1

    def decided(self, first: int, end: int, chosen: NumaMask, state: RemovedNodes) -> RemovedNodes:
        change = self._changes.get((first, end, chosen))
        if change is None:
            change = self._changes[first, end, chosen] = self._left_out(
                [p for p in range(first, end) if not chosen >> self.node_ids[p] & 1]
            )
        if not change.out:
            return state
        return RemovedNodes(
            state.out | change.out,
            state.kinds + change.kinds,
            tuple(map(int.__add__, state.costs, change.costs)),
        )

    def _left_out(self, places: Sequence[int]) -> RemovedNodes:
        return RemovedNodes(
            numa_mask.of(self.node_ids[place] for place in places),
            sum(self._kind_of[place] for place in places),
            tuple(map(sum, zip(*(self._costs_of[place] for place in places), strict=True)))
            or self.start.costs,
        )

    def hardness(self, places: int, state: RemovedNodes) -> tuple[Hashable, Lacking]:
        # With several families equal costs are not enough to compare states: a bound charges each
        # node to the cheapest family, so the state must name the kinds of the removed nodes.
        return ((), state.costs) if self.problem.is_a_sum else (state.kinds, ())

    def works(self, mask: NumaMask) -> bool:
        out = self.problem.ground & ~mask
        return (
            self.problem.can_be_shared_greedily(out)
            or self.problem.share(out, numa_mask.EMPTY, 0) is not None
        )

    def surely_works(self, mask: NumaMask) -> bool:
        return self.problem.can_be_shared_greedily(self.problem.ground & ~mask)
