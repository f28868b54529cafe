"""Close sets at once: what a search for the closest one begins with.

The closer the set that a search holds from the beginning, the more branches it cuts, and the
better its answer if it is stopped. Plain ways: a set *grows* from a node by taking what is nearest,
or what is *dear*, worth a detour because it is hard to do without; and a set that can be had
*exchanges* one node for another as long as that brings it closer and it can still be had. None
of them proves anything.

Nodes are places here: indices into the nodes that a search decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from numalet.core.model.value import Value

WORTH_MOST: Final = 1 << 10
"""What the dearest place is worth."""

_MOST_TRIED = 200
"""How many exchanges are tried in all; each asks whether a set can be had."""

Places: TypeAlias = frozenset[int]


class DistanceTable(Value):
    """Distances between places, there and back, and of each to itself and the fixed nodes."""

    pairs: list[list[int]]
    alone: list[int]

    def grown(
        self, size: int, starts: Iterable[int], alone: Sequence[int] | None = None
    ) -> Iterator[Places]:
        """From each of these places the set of this size that takes what is nearest.

        ``alone`` may take the place of the field's own, to make some places seem nearer.
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
        """Sets that grow the same way while some places are worth a detour, longer and longer.

        ``worth`` is what each place is worth, as a part of ``WORTH_MOST``.
        """
        for detours in (size // 2, size, 2 * size, 4 * size, 8 * size, 16 * size):
            longest = detours * max(map(max, self.pairs)) // 4
            nearer = [
                alone - longest * each // WORTH_MOST
                for alone, each in zip(self.alone, worth, strict=True)
            ]
            yield from self.grown(size, starts, nearer)

    def exchanged(self, chosen: Places, can_be_had: Callable[[Places], bool]) -> Places:
        """A set of the same size that no exchange brings closer, or the last one tried."""
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
        """What brings the set closer: by how much (negative), which place for which."""
        far = [alone + sum(map(row.__getitem__, chosen)) for alone, row in self._rows()]
        for out in chosen:
            # A place of the set was counted with itself.
            without, row = far[out] - self.pairs[out][out], self.pairs[out]
            for into, added in enumerate(far):
                change = added - row[into] - without
                if change < 0 and into not in chosen:
                    yield change, out, into

    def _rows(self) -> Iterator[tuple[int, list[int]]]:
        return zip(self.alone, self.pairs, strict=True)
