"""How evenly a division leaves the NUMA nodes, and the best way to divide over given nodes.

*Share*: what each chosen node gives, in whole groups. *Remainder*: what is then still missing;
some of the chosen nodes give one group more, in turns. *Score*: the standard deviation of what
is left on all nodes with free CPUs, in thousandths, rounded half up; smaller is better.

What is left adds up to the same sum for every division, so the score grows with the sum of the
squares alone, and no division of the remainder can beat taking from the fullest node each time.
Kubelet: ``takeByTopologyNUMADistributed``, ``standardDeviation``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import isqrt

from numalet.core.managers.cpu.combination_storage import Combination, Storage
from numalet.core.managers.cpu.reasons import WouldHang
from numalet.core.model import numa_mask
from numalet.core.model.value import Value


class Division(Value):
    """A way to divide: its score, and the nodes that give the remainder, in turn."""

    score: int
    remainder: tuple[int, ...]


class Balance(Value):
    """One request of ``count`` CPUs in groups of ``group_size``, and free CPUs by node id."""

    count: int
    group_size: int
    free: Mapping[int, int]
    storage: Storage

    def share(self, nodes: int) -> int:
        """What each of so many nodes gives."""
        return self.count // nodes // self.group_size * self.group_size

    def best(self, chosen: Sequence[int], below: int | None) -> Division | WouldHang | None:
        """The best division over exactly these nodes; None if there is none.

        Also None if all are certainly no better than ``below``, the best score so far.
        """
        share = self.share(len(chosen))
        if not self._can_give(chosen, share):
            return None
        left = dict(self.free)
        for node in chosen:
            left[node] -= share
        remaining = self.count - share * len(chosen)
        if not remaining:
            return Division(self._score(_squares(left.values())), ())
        givers = [node for node in chosen if left[node] >= self.group_size]
        return self._with_remainder(left, givers, remaining, below)

    def _can_give(self, chosen: Sequence[int], share: int) -> bool:
        size = self.group_size
        return (
            sum(self.free[node] for node in set(chosen)) >= self.count
            and sum(self.free[node] // size for node in chosen) * size >= self.count
            and all(self.free[node] >= share for node in chosen)
        )

    def _with_remainder(
        self, left: Mapping[int, int], givers: Sequence[int], remaining: int, below: int | None
    ) -> Division | WouldHang | None:
        """The first best subset of the givers, larger subsets first."""
        limit = self._limit(left, givers, remaining)
        if limit is not None and below is not None and limit >= below:
            return None
        squares = _squares(left.values())
        best: int | None = None
        winner: Combination = ()
        for subset in _subsets(len(givers)):
            turn = [givers[at] for at in subset]
            if sum(left[node] for node in turn) < remaining:
                continue
            change = self._change(left, turn, remaining)
            if isinstance(change, WouldHang):
                return change
            score = self._score(squares + change)
            if best is None or score < best:
                best, winner = score, subset
                if best == limit:
                    break
        if best is None:
            return None
        # Every walk over subsets of one size goes to its end.
        kept = self.storage(winner, len(givers), None)
        return Division(best, tuple(givers[at] for at in kept))

    def _limit(self, left: Mapping[int, int], givers: Sequence[int], remaining: int) -> int | None:
        """A score that no subset beats; None if the kubelet might hang over one of them.

        It can hang only over broken groups, or over a node that is listed twice; then it may
        also be that no node has a whole group left.
        """
        listed_twice = len(set(givers)) < len(givers)
        if not givers or listed_twice or any(left[node] % self.group_size for node in givers):
            return None
        after = dict(left)
        for _ in range(remaining // self.group_size):
            after[max(givers, key=after.__getitem__)] -= self.group_size
        return self._score(_squares(after.values()))

    def _change(
        self, left: Mapping[int, int], turn: Sequence[int], remaining: int
    ) -> int | WouldHang:
        """By how much the sum of squares changes when these nodes give in turn."""
        size = self.group_size
        after = {node: left[node] for node in turn}
        change = 0
        while remaining:
            before = remaining
            for node in turn:
                if remaining and after[node] >= size:
                    change += size * (size - 2 * after[node])
                    after[node] -= size
                    remaining -= size
            if remaining == before:
                return WouldHang(numa_mask.of(turn), remaining, size)
        return change

    def _score(self, squares: int) -> int:
        """The standard deviation in thousandths, of a mean that is rounded to thousandths."""
        nodes = len(self.free)
        total = sum(self.free.values()) - self.count
        mean = (2000 * total + nodes) // (2 * nodes)
        deviations = 1_000_000 * squares - 2000 * mean * total + nodes * mean * mean
        return (isqrt(4 * deviations // nodes) + 1) // 2


def _squares(numbers: Iterable[int]) -> int:
    return sum(number * number for number in numbers)


def _subsets(items: int) -> Iterable[Combination]:
    """Every non-empty subset of the positions, larger ones first."""
    for size in range(items, 0, -1):
        yield from combinations(range(items), size)
