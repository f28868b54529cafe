"""Admitting nodes by shape, best first, updated while single nodes change."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.cluster.shapes import PodKey
from numalet.core.cluster.verdicts import Verdicts, VerdictTable
from numalet.insight.fleet import eligible
from numalet.insight.fleet.footprint import Footprints
from numalet.insight.fleet.preference import Preference, Rank


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
        if eligible.why_not(on, of.pod) is not None:
            return None
        facts = self._verdicts.reader.facts(on.name, on.node)
        if not of.table.verdict(facts).admitted:
            return None
        footprint = of.footprints.of(facts)
        return None if footprint is None else self._preference.rank(footprint)
