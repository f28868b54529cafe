"""Which of the nodes that a filter let pass is best for a pod, in the points of an extender.

One node alone has the most points, so that the scheduler chooses it wherever our weight decides,
and so that the pod can be promised to it. Nodes on which nothing was decided have none: of them too
little is known, or there was no time. For a pod of which no kubelet has an opinion no node has any,
and all is left to the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.value import Value
from numalet.insight.fleet import preference
from numalet.insight.fleet.preference import Preference, Rank
from numalet.insight.scheduling import opinion
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.shape_verdicts import ShapeMemory, ShapeVerdicts

_NODES_IN_A_TURN: Final = 32


class Scored(Value):
    """Points of every node that was asked about, 0 to 10, and the best one, if one was examined.

    ``unexamined`` counts those for which there was no time.
    """

    points: Mapping[str, int]
    best: str | None
    unexamined: int = 0


class NodeScorer:
    """Answers about one pod after the other, and remembers. For one thread."""

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
        """The points of these nodes; ``may_go_on`` is asked every few decisions."""
        self._was_asked = True
        if not opinion.is_needed(pod.pod):
            return Scored(dict.fromkeys(names, 0), None)
        of = self._memory.of(pod.pod)
        unexamined = self._rank(of, names, may_go_on)
        ranks: dict[str, Rank] = {}
        for name in names:
            rank = of.ranks.get(name)
            if rank is not None:
                ranks[name] = rank
        points = dict.fromkeys(names, 0) | preference.scores(ranks)
        return Scored(points, preference.best(ranks), unexamined)

    def prepare(self, pod: ClusterPod, may_go_on: Callable[[], bool]) -> bool:
        """Rank in advance the nodes that are known to admit the pod; whether nothing is left.

        Nothing is to be done until points were asked for: many schedulers never do.
        """
        if not self._was_asked:
            return True
        of = self._memory.of(pod.pod)
        names = [name for name, verdict in of.by_name.items() if verdict.admitted]
        return not self._rank(of, names, may_go_on)

    def _rank(self, of: ShapeVerdicts, names: Sequence[str], may_go_on: Callable[[], bool]) -> int:
        """Rank the nodes that are not yet; how many were not reached."""
        nodes, ranks = self._nodes.nodes, of.ranks
        missing = [name for name in names if name not in ranks and name in nodes]
        for at, name in enumerate(missing):
            if at % _NODES_IN_A_TURN == 0 and not may_go_on():
                return len(missing) - at
            footprint = of.footprints.of(of.reader.facts(name, nodes[name].node))
            ranks[name] = None if footprint is None else self._by.rank(footprint)
        return 0
