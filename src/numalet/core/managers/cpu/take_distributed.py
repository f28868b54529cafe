"""Distributed assignment: evenly over as few NUMA nodes as possible.

For 1, 2, 3 ... nodes: among all combinations of that size, the first that leaves the machine most
balanced wins (``balance``). Each of its nodes gives its share, some give the remainder; CPUs inside
a node are packed. Kubelet: ``takeByTopologyNUMADistributed``, v1.32.
"""

from __future__ import annotations

from itertools import combinations

from numalet.core.managers.cpu import cpu_mask, free_cpus, take_packed
from numalet.core.managers.cpu.balance import Balance, Division
from numalet.core.managers.cpu.combination_storage import Combination, Storage, overwritten
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.free_cpus import FreeCpus
from numalet.core.managers.cpu.reasons import AccountingError, TooFewCpus, Unpickable, WouldHang
from numalet.core.managers.cpu.topology import CpuTopology, TopologyPart
from numalet.core.model import numa_mask
from numalet.core.model.value import Value


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
    nodes = free_cpus.nodes(topology, free)
    by_node = {node.part_id: (node.cpus & free).bit_count() for node in nodes}
    balance = Balance(count, group_size, by_node, storage)
    for size in _node_counts(topology, len(by_node), count, group_size):
        winner = _winner(balance, nodes, size)
        if isinstance(winner, WouldHang):
            return winner
        if winner is not None:
            return _handed_out(FreeCpus(topology, free, count), balance, winner)
    # No number of nodes works: take CPUs from everywhere.
    return take_packed.take(topology, available, count)


def _node_counts(topology: CpuTopology, nodes_free: int, count: int, group_size: int) -> range:
    groups = _up(topology.cpus.bit_count(), group_size)
    groups_needed = _up(count, group_size)
    fewest = _up(groups_needed, _up(groups, len(topology.nodes)))
    return range(fewest, min(groups_needed, nodes_free) + 1)


def _up(number: int, divisor: int) -> int:
    return (number - 1) // divisor + 1


def _winner(balance: Balance, nodes: list[TopologyPart], size: int) -> _Winner | WouldHang | None:
    """Return the first combination of ``size`` nodes with the best score."""
    best: Division | None = None
    winner: Combination = ()
    stopped_at: Combination | None = None
    for combination in combinations(range(len(nodes)), size):
        # Score 0 ends the walk. The kubelet ends it only after it has built the next combination,
        # which matters for ``combination_storage``.
        if best is not None and best.score == 0:
            stopped_at = combination
            break
        below = None if best is None else best.score
        division = balance.best([nodes[at].part_id for at in combination], below)
        if isinstance(division, WouldHang):
            return division
        if division is not None and (best is None or division.score < best.score):
            best, winner = division, combination
    if best is None:
        return None
    by_id = {node.part_id: node for node in nodes}
    return _Winner(
        tuple(nodes[at] for at in balance.storage(winner, len(nodes), stopped_at)),
        tuple(by_id[node_id] for node_id in best.remainder),
    )


def _handed_out(taking: FreeCpus, balance: Balance, winner: _Winner) -> CpuMask | Unpickable:
    """Take the CPUs of the winner: shares, then the remainder in turn."""
    size = balance.group_size
    share = balance.share(len(winner.sharing))
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
