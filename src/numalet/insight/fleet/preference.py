"""Which of several nodes that admit a pod is best: three preferences, each with its promise.

A preference turns what the pod would take of a node into a *rank*; the smallest one is best. Ranks
of different pods say nothing about each other. Of equal ranks the first node by name is best, so
that the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

from numalet.insight.fleet.footprint import Footprint

Rank: TypeAlias = tuple[int, ...]
"""Smaller is better."""

BEST_SCORE: Final = 10
"""Of a scheduler's extender; the others have 9 to 1."""


class Preference(Enum):
    """What makes a node better than another one that admits the pod as well."""

    PACK = "pack"
    """Keep room whole for large pods.

    No whole NUMA node is broken as long as some node admits the pod that breaks none; more are
    broken only where that can not be avoided. Then the fewest NUMA nodes come to give memory in a
    group, and then the pod goes where the least is left of the scarcest resource that it asks for,
    first beside it, then on the node.
    """

    SPREAD = "spread"
    """Leave the most room around each pod.

    No other node has more left afterwards of the scarcest resource that the pod asks for, on the
    node in all; then beside the pod; then the same of the next resource.
    """

    CLOSEST = "closest"
    """Keep each pod together.

    No other node gives the pod fewer NUMA nodes; of those with as few, on none are they less far
    apart; of these, on none are its devices nearer to its CPUs. Then as ``pack``.
    """

    def rank(self, of: Footprint) -> Rank:
        """The rank of a node on which the pod has this footprint."""
        if self is Preference.SPREAD:
            return tuple([-each for left in of.left for each in (left.in_all, left.beside)])
        fit = [each for left in of.left for each in (left.beside, left.in_all)]
        packed = (of.broken, of.grouped, *fit)
        if self is Preference.PACK:
            return packed
        return (of.numa_nodes, of.distance, of.device_distance, *packed)


def best(ranks: Mapping[str, Rank]) -> str | None:
    """The node with the smallest rank, by name the first of them; None of no nodes."""
    return min(ranks, key=lambda name: (ranks[name], name), default=None)


def scores(ranks: Mapping[str, Rank]) -> dict[str, int]:
    """Points: 10 for the best one alone, 9 to 1 for the others; never more for a larger rank.

    The best one has more than every other, those of its rank too: a scheduler draws among nodes
    with equal points, and then it can not be said beforehand which one it will be.
    """
    first = best(ranks)
    at = {rank: number for number, rank in enumerate(sorted(set(ranks.values())))}
    last = max(1, len(at) - 1)
    of_rank = {rank: 9 - 8 * number // last for rank, number in at.items()}
    return {name: BEST_SCORE if name == first else of_rank[rank] for name, rank in ranks.items()}
