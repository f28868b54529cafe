"""Distributed assignment: evenly over as few NUMA nodes as possible.

For 1, 2, 3 ... nodes: among all combinations of that size, the first that leaves the machine most
balanced wins (``Balance``). Each of its nodes gives its share, some give the remainder; CPUs inside
a node are packed. Kubelet: ``takeByTopologyNUMADistributed``, v1.32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import isqrt
from typing import TypeAlias

from numalet.core.managers.cpu import cpu_mask, free_cpus, take_packed
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.free_cpus import FreeCpus
from numalet.core.managers.cpu.reasons import AccountingError, TooFewCpus, Unpickable, WouldHang
from numalet.core.managers.cpu.topology import CpuTopology, TopologyPart
from numalet.core.model import numa_mask
from numalet.core.model.value import Value

Combination: TypeAlias = tuple[int, ...]
"""Positions in a list, ascending."""

Storage: TypeAlias = Callable[[Combination, int, Combination | None], Combination]
"""Returns the stored winner after the walk; see ``overwritten`` for the arguments."""


# A kubelet bug: the walk over all combinations overwrites the stored winner. The kubelet builds
# combinations in one growing Go slice and keeps the winner by reference. Go allocates a new array
# at the 1st, 2nd, 3rd, 5th, 9th and 17th element; combinations that are equal up to there share an
# array. The elements after it are therefore those of the last combination tried, not those of the
# winner. Lengths 1, 2, 3, 5 and 9 are safe. The bug shows on machines with more than four NUMA
# nodes. Kubelet: ``cpuAccumulator.iterateCombinations`` and its callers, v1.32.


def overwritten(
    winner: Combination, item_count: int, stopped_at: Combination | None
) -> Combination:
    """Return the winner that the kubelet reads after the walk.

    The walk visited all combinations of ``item_count`` items in lexicographic order.
    ``stopped_at``: it ended early at this combination, which follows the winner and was already
    written.
    """
    kept = _elements_kept(len(winner))
    if stopped_at is not None:
        return stopped_at if stopped_at[:kept] == winner[:kept] else winner
    behind = len(winner) - kept
    return winner[:kept] + tuple(range(item_count - behind, item_count))


def copied(winner: Combination, item_count: int, stopped_at: Combination | None) -> Combination:
    """Return the winner unchanged, as if the kubelet had copied it."""
    return winner


def _elements_kept(length: int) -> int:
    """Return the last element with a new array: 2^n + 1 for the largest n that fits."""
    return 1 if length == 1 else (1 << (length - 1).bit_length() - 1) + 1


# *Share*: the CPUs that each chosen node gives, in whole groups. *Remainder*: the CPUs still
# missing then; some of the chosen nodes give one more group each, in turn. *Score*: the standard
# deviation of the CPUs left on all nodes with free CPUs; smaller is better. Kubelet:
# ``standardDeviation``, v1.32.


class Division(Value):
    """A division: its score, and the nodes that give the remainder, in turn."""

    score: int
    remainder: tuple[int, ...]


class Sockets(Value):
    """A release's rules: cut shares, and prefer combinations of nodes in one socket.

    ``cuts_given_shares``: a node that was chosen does not have to give more than it has.
    ``are_preferred``: with align-by-socket, combinations in one socket win over all others of
    their size, and no share exceeds what each node of the combination has.
    """

    cuts_given_shares: bool = False
    are_preferred: bool = False


AS_BEFORE = Sockets()


class Balance(Value):
    """A request of ``count`` CPUs in groups of ``group_size``, and free CPUs by node id."""

    count: int
    group_size: int
    free: Mapping[int, int]
    storage: Storage
    sockets: Sockets = AS_BEFORE

    def share(self, chosen: Sequence[int], is_cut: bool) -> int:
        """Return the even share of these nodes; cut to the whole groups that each of them has."""
        size = self.group_size
        even = self.count // len(chosen) // size * size
        return min(even, *(self.free[node] // size * size for node in chosen)) if is_cut else even

    def best(self, chosen: Sequence[int], below: int | None) -> Division | WouldHang | None:
        """Return the best division over exactly these nodes, if they can give enough.

        Return None also if none is better than ``below``, the best score so far.
        """
        share = self.share(chosen, self.sockets.are_preferred)
        # The kubelet checks these three conditions before it scores a combination; a combination
        # that fails does not take part, however even it would be.
        if not self._can_give(chosen, share):
            return None
        left = dict(self.free)
        for node in chosen:
            left[node] -= share
        remaining = self.count - share * len(chosen)
        if not remaining:
            return Division(self._score(_squares(left.values())), ())
        # A chosen node may have too few CPUs for one more group after its share: it stays chosen
        # but cannot give a part of the remainder.
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
            # This counts single CPUs, not groups, as the kubelet does. A subset may pass here and
            # still have no whole group left; see ``_change``.
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


class _Winner(Value):
    """Nodes that give a share each, and nodes that give the remainder in turn."""

    sharing: tuple[TopologyPart, ...]
    remainder: tuple[TopologyPart, ...]


def take(
    topology: CpuTopology,
    available: CpuMask,
    count: int,
    group_size: int = 1,
    storage: Storage = overwritten,
    sockets: Sockets = AS_BEFORE,
) -> CpuMask | Unpickable:
    """Pick ``count`` of the available CPUs, in groups of ``group_size`` on a NUMA node."""
    # Not a multiple of a group: packed, as in the kubelet.
    if count % group_size:
        return take_packed.take(topology, available, count)
    free = available & topology.cpus
    if count < 1:
        return cpu_mask.EMPTY
    if count > free.bit_count():
        return TooFewCpus(count, available.bit_count())
    # The order of this list decides ties: the first combination with the best score wins, and the
    # fullest nodes are first.
    nodes = free_cpus.nodes(topology, free)
    by_node = {node.part_id: (node.cpus & free).bit_count() for node in nodes}
    balance = Balance(count, group_size, by_node, storage, sockets)
    for size in _node_counts(topology, len(by_node), count, group_size):
        winner = _winner(balance, topology, nodes, size)
        if isinstance(winner, WouldHang):
            return winner
        if winner is not None:
            return _handed_out(FreeCpus(topology, free, count), balance, winner)
    # No number of nodes works: take CPUs from everywhere.
    return take_packed.take(topology, available, count)


def _node_counts(topology: CpuTopology, nodes_free: int, count: int, group_size: int) -> range:
    groups = _up(topology.cpus.bit_count(), group_size)
    groups_needed = _up(count, group_size)
    # No fewer nodes than an even machine would need; the kubelet does not try one node if the
    # request is larger than the average node, even where one node is large enough.
    fewest = _up(groups_needed, _up(groups, len(topology.nodes)))
    return range(fewest, min(groups_needed, nodes_free) + 1)


def _up(number: int, divisor: int) -> int:
    return (number - 1) // divisor + 1


def _winner(
    balance: Balance, topology: CpuTopology, nodes: list[TopologyPart], size: int
) -> _Winner | WouldHang | None:
    """Return the first combination of ``size`` nodes with the best score."""
    prefers_one_socket = balance.sockets.are_preferred
    is_in_one = False
    best: Division | None = None
    winner: Combination = ()
    stopped_at: Combination | None = None
    for combination in combinations(range(len(nodes)), size):
        # Score 0 ends the walk. The kubelet ends it only after it has built the next combination,
        # which matters for ``overwritten``.
        if best is not None and best.score == 0 and (is_in_one or not prefers_one_socket):
            stopped_at = combination
            break
        chosen = [nodes[at] for at in combination]
        would_be_in_one = prefers_one_socket and _are_in_one_socket(topology, chosen)
        is_promoted = would_be_in_one and not is_in_one
        below = None if best is None or is_promoted else best.score
        division = balance.best([node.part_id for node in chosen], below)
        if isinstance(division, WouldHang):
            return division
        if division is None or is_in_one > would_be_in_one:
            continue
        if is_promoted or best is None or division.score < best.score:
            best, winner, is_in_one = division, combination, would_be_in_one
    if best is None:
        return None
    by_id = {node.part_id: node for node in nodes}
    return _Winner(
        tuple(nodes[at] for at in balance.storage(winner, len(nodes), stopped_at)),
        tuple(by_id[node_id] for node_id in best.remainder),
    )


def _are_in_one_socket(topology: CpuTopology, chosen: Sequence[TopologyPart]) -> bool:
    return any(all(not node.cpus & ~socket.cpus for node in chosen) for socket in topology.sockets)


def _handed_out(taking: FreeCpus, balance: Balance, winner: _Winner) -> CpuMask | Unpickable:
    """Take the CPUs of the winner: shares, then the remainder in turn."""
    size = balance.group_size
    giving = [node.part_id for node in winner.sharing]
    share = balance.share(giving, balance.sockets.cuts_given_shares)
    # The winner may be overwritten; then a node may have too few CPUs, or no node can give the
    # remainder.
    for node in winner.sharing:
        _take_from(taking, node, share)
    remaining = balance.count - share * len(winner.sharing)
    while remaining:
        before = remaining
        for node in winner.remainder:
            if remaining and (node.cpus & taking.free).bit_count() >= size:
                _take_from(taking, node, size)
                remaining -= size
        if remaining == before:
            nodes = numa_mask.of(node.part_id for node in winner.remainder)
            return WouldHang(nodes, remaining, size)
    return taking.taken if taking.satisfied else AccountingError(taking.need)


def _take_from(taking: FreeCpus, node: TopologyPart, count: int) -> None:
    """Take CPUs of one node, packed; silently nothing if it has too few."""
    cpus = take_packed.take(taking.topology, node.cpus & taking.free, count)
    if not isinstance(cpus, TooFewCpus):
        taking.take(cpus)
