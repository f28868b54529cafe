"""Heuristics for close sets: starting points for the search for the closest one.

A closer start lets the search cut more branches, and improves its answer if it is stopped. The
results carry no proof. A place is an index into the nodes that a search decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from numalet.core.model.value import Value

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
