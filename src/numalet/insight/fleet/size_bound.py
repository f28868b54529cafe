"""How many pods must go at least, by what they hold: fewer need not be tried.

A *lack* is an amount that is missing somewhere, and how much of it each pod would give. All lacks
of a *place* have to be met there, and one place is enough for a *need*. That is a bound and no
answer: whether a set is enough is said by the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import sub
from typing import TypeAlias

from numalet.core.model.value import Value


class Lack(Value):
    """``gives`` is what each pod would give, in the order of the pods."""

    short: int
    gives: Sequence[int]

    @property
    def fewest(self) -> int | None:
        """How many pods give enough, if the largest go; None if all together do not."""
        if self.short <= 0:
            return 0
        sums = accumulate(sorted(self.gives, reverse=True))
        return next((at for at, given in enumerate(sums, 1) if given >= self.short), None)


Place: TypeAlias = Sequence[Lack]
Need: TypeAlias = Sequence[Place]


class SizeBound:
    """What so many pods can still do about all needs.

    ``fewest`` is the size of the smallest set that may be enough; None if no set is. ``short`` is
    what is missing while no pod has gone.
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
        largest = [(0,) * len(lacks)]
        for gives in reversed(self._gives):
            largest.append(tuple(map(max, largest[-1], gives)))
        self._largest = largest[::-1]

    def after(self, short: tuple[int, ...], at: int) -> tuple[int, ...]:
        """What is missing once the pod at this place has gone too."""
        return tuple(map(sub, short, self._gives[at]))

    def is_within(self, short: tuple[int, ...], more: int, start: int) -> bool:
        """Whether so many more pods, of those from ``start`` on, may be enough."""
        largest = self._largest[start]
        return all(
            any(all(short[lack] <= largest[lack] * more for lack in place) for place in places)
            for places in self._needs
        )
