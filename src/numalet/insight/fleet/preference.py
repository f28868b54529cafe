"""Which of several nodes that admit a pod is best: three preferences with exact definitions.

A preference turns the footprint of a pod into a *rank*; the smallest one is best. Ranks of
different pods are not comparable. Ties are resolved by the first name, so that results repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

from numalet.insight.fleet.footprint import Footprint

Rank: TypeAlias = tuple[int, ...]

BEST_SCORE: Final = 10
"""Points of the best node in a scheduler's extender; the others have 9 to 1."""


class Preference(Enum):
    PACK = "pack"
    """Keep room whole for large pods.

    The node with the fewest broken whole NUMA nodes wins; then the one with the fewest NUMA nodes
    joining a memory group; then the least free amount of the scarcest requested resource, first
    next to the pod, then on the node.
    """

    SPREAD = "spread"
    """Leave the most room around each pod.

    The node with the most left of the scarcest requested resource wins, first on the whole node,
    then next to the pod; then the same for the next resource.
    """

    CLOSEST = "closest"
    """Keep each pod together.

    The node with the fewest NUMA nodes for the pod wins; then the smallest distance between them,
    then the smallest distance of devices from CPUs, then ``pack``.
    """

    def rank(self, of: Footprint) -> Rank:
        if self is Preference.SPREAD:
            return tuple([-each for left in of.left for each in (left.in_all, left.beside)])
        fit = [each for left in of.left for each in (left.beside, left.in_all)]
        packed = (of.broken, of.grouped, *fit)
        if self is Preference.PACK:
            return packed
        return (of.numa_nodes, of.distance, of.device_distance, *packed)


def best(ranks: Mapping[str, Rank]) -> str | None:
    """Return the node with the smallest rank, the first by name, if there are nodes."""
    return min(ranks, key=lambda name: (ranks[name], name), default=None)


def scores(ranks: Mapping[str, Rank]) -> dict[str, int]:
    """Return points: 10 only for the best one, 9 to 1 for the others, fewer for larger ranks."""
    # Alone at the top even among equal ranks: a scheduler chooses at random among equal points, and
    # the extender could not predict the node.
    first = best(ranks)
    at = {rank: number for number, rank in enumerate(sorted(set(ranks.values())))}
    last = max(1, len(at) - 1)
    of_rank = {rank: 9 - 8 * number // last for rank, number in at.items()}
    return {name: BEST_SCORE if name == first else of_rank[rank] for name, rank in ranks.items()}
