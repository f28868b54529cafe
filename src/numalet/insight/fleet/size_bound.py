"""A lower bound on the number of evictions, from the allocations of pods.

A *lack* is a missing amount somewhere, and how much of it each pod would release. All lacks of a
*place* have to be met there, and one place suffices for a *need*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import sub
from typing import TypeAlias

from numalet.core.model.value import Value


class Lack(Value):
    """``gives`` is the amount that each pod would release, in the order of the pods."""

    short: int
    gives: Sequence[int]

    @property
    def fewest(self) -> int | None:
        """How many of the largest pods suffice, if all together do."""
        if self.short <= 0:
            return 0
        sums = accumulate(sorted(self.gives, reverse=True))
        return next((at for at, given in enumerate(sums, 1) if given >= self.short), None)


Place: TypeAlias = Sequence[Lack]
Need: TypeAlias = Sequence[Place]


class SizeBound:
    """The effect of a number of further evictions on all needs.

    ``fewest`` is the lower bound, unless no set suffices. ``short`` are the missing amounts before
    any eviction.
    """

    def __init__(self, needs: Iterable[Need], count: int) -> None:
        lacks: list[Lack] = []
        self._needs: list[tuple[range, ...]] = []
        self.fewest: int | None = 0
        for need in needs:
            places: list[range] = []
            sizes: list[int] = []
            for place in need:
                fewest = [each.fewest for each in place]
                possible = [each for each in fewest if each is not None]
                # A place that all pods together cannot meet is left out.
                if len(possible) == len(fewest):
                    places.append(range(len(lacks), len(lacks) + len(place)))
                    sizes.append(max(possible, default=0))
                    lacks.extend(place)
            self._needs.append(tuple(places))
            if not sizes:
                self.fewest = None
            elif self.fewest is not None:
                self.fewest = max(self.fewest, min(sizes))
        self.short = tuple([each.short for each in lacks])
        self._gives = [tuple([each.gives[at] for each in lacks]) for at in range(count)]
        # For each index the largest release of any pod from there on: an upper bound that one
        # comparison checks.
        largest = [(0,) * len(lacks)]
        for gives in reversed(self._gives):
            largest.append(tuple(map(max, largest[-1], gives)))
        self._largest = largest[::-1]

    def after(self, short: tuple[int, ...], at: int) -> tuple[int, ...]:
        """Return the missing amounts after one more eviction, of the pod at this index."""
        return tuple(map(sub, short, self._gives[at]))

    def is_within(self, short: tuple[int, ...], more: int, start: int) -> bool:
        """Return whether ``more`` further pods with index at least ``start`` may suffice."""
        largest = self._largest[start]
        return all(
            any(all(short[lack] <= largest[lack] * more for lack in place) for place in places)
            for places in self._needs
        )
