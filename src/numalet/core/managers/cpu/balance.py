"""How balanced the NUMA nodes are after a division, and the best division over given nodes.

*Share*: the CPUs that each chosen node gives, in whole groups. *Remainder*: the CPUs still missing
then; some of the chosen nodes give one more group each, in turn. *Score*: the standard deviation of
the CPUs left on all nodes with free CPUs; smaller is better. Kubelet:
``takeByTopologyNUMADistributed``, ``standardDeviation``, v1.32.
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
    """A division: its score, and the nodes that give the remainder, in turn."""

    score: int
    remainder: tuple[int, ...]


class Balance(Value):
    """A request of ``count`` CPUs in groups of ``group_size``, and free CPUs by node id."""

    count: int
    group_size: int
    free: Mapping[int, int]
    storage: Storage

    def share(self, nodes: int) -> int:
        return self.count // nodes // self.group_size * self.group_size

    def best(self, chosen: Sequence[int], below: int | None) -> Division | WouldHang | None:
        """Return the best division over exactly these nodes, if they can give enough.

        Return None also if none is better than ``below``, the best score so far.
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
        """Return the division with the first best subset of the givers, larger subsets first."""
        limit = self._limit(left, givers, remaining)
        if limit is not None and below is not None and limit >= below:
            return None
        squares = _squares(left.values())
        best: int | None = None
        winner: Combination = ()
        # Larger subsets first: the first best one wins, as in the kubelet.
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
        # The kubelet always completes the walk over subsets of one size: no ``stopped_at``.
        kept = self.storage(winner, len(givers), None)
        return Division(best, tuple(givers[at] for at in kept))

    def _limit(self, left: Mapping[int, int], givers: Sequence[int], remaining: int) -> int | None:
        """Return a lower bound of the score; None if the kubelet might hang on a subset."""
        # It can hang only with incomplete groups, or with a node listed twice: then possibly no
        # node has a whole group left.
        listed_twice = len(set(givers)) < len(givers)
        if not givers or listed_twice or any(left[node] % self.group_size for node in givers):
            return None
        # No subset can do better than taking each group from the fullest node.
        after = dict(left)
        for _ in range(remaining // self.group_size):
            after[max(givers, key=after.__getitem__)] -= self.group_size
        return self._score(_squares(after.values()))

    def _change(
        self, left: Mapping[int, int], turn: Sequence[int], remaining: int
    ) -> int | WouldHang:
        """Return the change of the sum of squares when these nodes give in turn."""
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
                # Kubelet bug: it loops forever here.
                return WouldHang(numa_mask.of(turn), remaining, size)
        return change

    def _score(self, squares: int) -> int:
        """Return the standard deviation in thousandths, rounded half up."""
        # Every division leaves the same total, so the score grows with the sum of squares alone.
        # Integers instead of floats; the mean is rounded to thousandths first, as in the kubelet.
        nodes = len(self.free)
        total = sum(self.free.values()) - self.count
        mean = (2000 * total + nodes) // (2 * nodes)
        deviations = 1_000_000 * squares - 2000 * mean * total + nodes * mean * mean
        return (isqrt(4 * deviations // nodes) + 1) // 2


def _squares(numbers: Iterable[int]) -> int:
    return sum(number * number for number in numbers)


def _subsets(items: int) -> Iterable[Combination]:
    for size in range(items, 0, -1):
        yield from combinations(range(items), size)
