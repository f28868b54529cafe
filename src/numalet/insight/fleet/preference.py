"""Which of several nodes that admit a pod is best: three preferences with exact definitions.

A preference turns the footprint of a pod into a *rank*; the smallest one is best. Ranks of
different pods are not comparable. Ties are resolved by the first name, so that results repeat.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.cluster.shapes import PodKey
from numalet.core.cluster.verdicts import Verdicts, VerdictTable
from numalet.insight.fleet import kube_scheduler
from numalet.insight.fleet.footprint import Footprint, Footprints

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


def scores(ranks: Mapping[str, Rank], best: str | None) -> dict[str, int]:
    """Return points: 10 only for the best one, 9 to 1 for the others, fewer for larger ranks."""
    # Alone at the top even among equal ranks: a scheduler chooses at random among equal points, and
    # the extender could not predict the node.
    at = {rank: number for number, rank in enumerate(sorted(set(ranks.values())))}
    last = max(1, len(at) - 1)
    of_rank = {rank: 9 - 8 * number // last for rank, number in at.items()}
    return {name: BEST_SCORE if name == best else of_rank[rank] for name, rank in ranks.items()}


@dataclass(eq=False)
class _OfShape:
    pod: ClusterPod
    table: VerdictTable
    footprints: Footprints
    ranks: dict[str, Rank] = field(default_factory=dict)
    in_order: list[tuple[Rank, str]] = field(default_factory=list)
    known_changes: int = 0


class PreferredNodes:
    """A mutable collection, for one thread. Device plugins are not called."""

    def __init__(self, nodes: Mapping[str, ClusterNode], preference: Preference) -> None:
        self._preference = preference
        self._nodes = dict(nodes)
        self._changes = list(nodes)
        self._verdicts = Verdicts()
        self._by_shape: dict[PodKey, _OfShape] = {}

    def put(self, node: ClusterNode) -> None:
        self._nodes[node.name] = node
        self._changes.append(node.name)

    def best(self, pod: ClusterPod, shape: PodKey) -> ClusterNode | None:
        """Return the best node for a new pod of this shape that the scheduler may choose."""
        of = self._by_shape.get(shape)
        if of is None:
            table = self._verdicts.table(pod.pod)
            of = self._by_shape[shape] = _OfShape(pod, table, Footprints(table))
        # Only nodes changed since the last call for this shape are ranked again.
        self._rank(of, set(self._changes[of.known_changes :]))
        of.known_changes = len(self._changes)
        return self._nodes[of.in_order[0][1]] if of.in_order else None

    def _rank(self, of: _OfShape, names: Iterable[str]) -> None:
        for name in names:
            before = of.ranks.pop(name, None)
            if before is not None:
                del of.in_order[bisect_left(of.in_order, (before, name))]
            rank = self._rank_on(of, self._nodes[name])
            if rank is not None:
                of.ranks[name] = rank
                insort(of.in_order, (rank, name))

    def _rank_on(self, of: _OfShape, on: ClusterNode) -> Rank | None:
        if kube_scheduler.why_not(on, of.pod) is not None:
            return None
        facts = self._verdicts.reader.facts(on.name, on.node)
        if not of.table.verdict(facts).admitted:
            return None
        footprint = of.footprints.of(facts)
        return None if footprint is None else self._preference.rank(footprint)
