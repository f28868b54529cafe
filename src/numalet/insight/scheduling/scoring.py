"""Which of the nodes that the filter let pass is best for a pod, in points of an extender.

Exactly one node has the most points, so that the pod can be promised to it. If no kubelet can
refuse the pod, no node gets points, and the scheduler decides alone.

The best node is the preferred one of those where the order of decisions does not matter
(``core.cluster.any_order``): there, no kubelet rejects what it has promised. In a burst of pods
these are the less full nodes, so a burst spreads. If there is none, pods are spread over the nodes
with the fewest promises, so that few of them wait for one node's publication.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.value import Value
from numalet.insight.fleet import preference
from numalet.insight.fleet.preference import Preference, Rank
from numalet.insight.scheduling import expected_nodes
from numalet.insight.scheduling.expected_nodes import ExpectedNodes, ShapeMemory, ShapeVerdicts

_NODES_IN_A_TURN: Final = 32
_MOST_ORDERS: Final = 32
"""Nodes for which one call computes whether the order matters."""


class Scored(Value):
    """Points from 0 to 10 for every node of the call, and the best node if one was examined.

    ``unexamined`` counts the nodes not examined in time.
    """

    points: Mapping[str, int]
    best: str | None
    unexamined: int = 0


class NodeScorer:
    """Answers one pod after the other and caches its ranks. For one thread."""

    def __init__(self, nodes: ExpectedNodes, memory: ShapeMemory, by: Preference) -> None:
        self._nodes = nodes
        self._memory = memory
        self._by = by
        self._was_asked = False

    def scored(
        self,
        pod: ClusterPod,
        names: Sequence[str],
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> Scored:
        """``may_go_on`` is called every few decisions."""
        self._was_asked = True
        if not expected_nodes.needs_decision(pod.pod):
            return Scored(dict.fromkeys(names, 0), None)
        of = self._memory.of(pod.pod)
        unexamined = self._rank(of, names, may_go_on)
        ranks: dict[str, Rank] = {}
        for name in names:
            rank = of.ranks.get(name)
            if rank is not None:
                ranks[name] = rank
        best = self._best(of, pod, ranks)
        # Nodes without a rank get 0 points, which leaves them to the scheduler's own scores.
        points = dict.fromkeys(names, 0) | preference.scores(ranks, best)
        return Scored(points, best, unexamined)

    def _best(self, of: ShapeVerdicts, pod: ClusterPod, ranks: Mapping[str, Rank]) -> str | None:
        in_order = [(rank, name) for name, rank in ranks.items()]
        heapq.heapify(in_order)
        asked = len(of.safe)
        while in_order and len(of.safe) - asked < _MOST_ORDERS:
            _, name = heapq.heappop(in_order)
            if self._memory.is_safe(of, pod.pod, name):
                return name
        return min(
            ranks,
            key=lambda name: (len(self._nodes.promised_on(name)), ranks[name], name),
            default=None,
        )

    def prepare(self, pod: ClusterPod, may_go_on: Callable[[], bool]) -> bool:
        """Rank the nodes that are known to admit the pod in advance; return whether all are."""
        # Many schedulers never ask for points, so this waits for the first call of ``scored``.
        if not self._was_asked:
            return True
        of = self._memory.of(pod.pod)
        names = [name for name, verdict in of.by_name.items() if verdict.admitted]
        return not self._rank(of, names, may_go_on)

    def _rank(self, of: ShapeVerdicts, names: Sequence[str], may_go_on: Callable[[], bool]) -> int:
        """Rank the nodes without a rank; return how many were not reached."""
        nodes, ranks = self._nodes.nodes, of.ranks
        missing = [name for name in names if name not in ranks and name in nodes]
        for at, name in enumerate(missing):
            if at % _NODES_IN_A_TURN == 0 and not may_go_on():
                return len(missing) - at
            footprint = of.footprints.of(of.reader.facts(name, nodes[name].node))
            ranks[name] = None if footprint is None else self._by.rank(footprint)
        return 0
