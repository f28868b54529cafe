"""The scheduler's choice of a node: the best score by sums, among those with room.

kube-scheduler chooses at random among equal scores; here the first name wins, so that results
repeat. Its other scoring plugins (balance between resources, spreading, images) are left out.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.cluster import scheduler_sums
from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.model import pod_demand, resources
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.value import Value
from numalet.insight.fleet import eligible

_MOST_POINTS: Final = 100


class Strategy(Enum):
    """``scoringStrategy.type`` of the plugin NodeResourcesFit."""

    LEAST_ALLOCATED = "LeastAllocated"
    """Nodes with more left are better: pods are spread."""
    MOST_ALLOCATED = "MostAllocated"
    """Nodes with less left are better: pods are packed."""


class Scoring(Value):
    """A strategy, and the weight of each resource; by default equal for ``cpu`` and ``memory``."""

    strategy: Strategy = Strategy.LEAST_ALLOCATED
    weights: Mapping[str, int] = MappingProxyType({resources.CPU: 1, resources.MEMORY: 1})

    def score(
        self, there: Mapping[str, int], free: Mapping[str, int], asked: Mapping[str, int]
    ) -> int:
        """Return the points of a node including the pod, 0 to 100; integers like the scheduler's.

        Scheduler: ``leastResourceScorer`` and ``mostResourceScorer``, v1.32; missing requests are
        0.
        """
        points = weights = 0
        for name, weight in self.weights.items():
            capacity = there.get(name, 0)
            # The scheduler leaves out resources that the node does not have, with their weight.
            if capacity <= 0:
                continue
            left = free.get(name, 0) - asked.get(name, 0)
            if self.strategy is Strategy.LEAST_ALLOCATED:
                share = max(left, 0) * _MOST_POINTS // capacity
            else:
                share = min(capacity - left, capacity) * _MOST_POINTS // capacity
            points += weight * share
            weights += weight
        return points // weights if weights else 0


_Bucket: TypeAlias = tuple[object, ...]


class ScoredNodes:
    """The nodes of a cluster in buckets; mutable during a replay."""

    def __init__(self, nodes: Mapping[str, ClusterNode], scoring: Scoring) -> None:
        self._scoring = scoring
        self._nodes: dict[str, ClusterNode] = {}
        self._bucket_of: dict[str, _Bucket] = {}
        self._names: dict[_Bucket, list[str]] = {}
        self._sums: dict[_Bucket, tuple[Mapping[str, int], Mapping[str, int]]] = {}
        for each in nodes.values():
            self.put(each)

    def __getitem__(self, name: str) -> ClusterNode:
        return self._nodes[name]

    def put(self, node: ClusterNode) -> None:
        before = self._bucket_of.get(node.name)
        if before is not None:
            names = self._names[before]
            del names[bisect_left(names, node.name)]
            if not names:
                del self._names[before], self._sums[before]
        there, free = scheduler_sums.allocatable(node.node), scheduler_sums.free(node.node)
        # All that the scheduler's checks depend on, except labels and ports: one pod is scored once
        # for each bucket.
        bucket = (
            tuple(there.items()),
            tuple(free.items()),
            node.taints,
            node.is_cordoned,
            node.is_ready,
        )
        self._nodes[node.name] = node
        self._bucket_of[node.name] = bucket
        self._sums[bucket] = (there, free)
        insort(self._names.setdefault(bucket, []), node.name)

    def free(self) -> Iterator[tuple[Mapping[str, int], int]]:
        """Yield free sums, and the number of nodes that have them."""
        for bucket, names in self._names.items():
            yield self._sums[bucket][1], len(names)

    def ranked(
        self, pod: ClusterPod, among: Collection[str] | None = None
    ) -> Iterator[ClusterNode]:
        """Yield every node that the scheduler may choose, the best score first, then by name.

        ``among``: only these nodes; all by default.
        """
        asked = pod_demand.amounts(pod.pod)
        constraints = pod.pod.constraints or UNCONSTRAINED
        # Without selectors, affinity and ports, the check of one node holds for its bucket.
        is_same = not (
            constraints.selector or constraints.ports or constraints.affinity is not None
        )
        ranks: dict[int, list[str]] = {}
        for bucket, names in self._in_question(among):
            there, free = self._sums[bucket]
            if not scheduler_sums.has_room(free, asked):
                continue
            if is_same and eligible.why_not(self._nodes[names[0]], pod) is not None:
                continue
            score = self._scoring.score(there, free, asked)
            ranks.setdefault(score, []).extend(names)
        for score in sorted(ranks, reverse=True):
            for name in sorted(ranks[score]):
                node = self._nodes[name]
                if is_same or eligible.why_not(node, pod) is None:
                    yield node

    def _in_question(self, among: Collection[str] | None) -> Iterator[tuple[_Bucket, list[str]]]:
        if among is None:
            yield from self._names.items()
            return
        for name in among:
            yield self._bucket_of[name], [name]
