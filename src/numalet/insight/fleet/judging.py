"""Repeated decisions on pods while the nodes change."""

from __future__ import annotations

from numalet.core.admission.reasons import Rejection
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.cluster.facts import FactReader, StateFacts
from numalet.core.cluster.shapes import PodKey
from numalet.core.cluster.verdicts import Verdicts, VerdictTable
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node


class Judge:
    """Verdicts by shape, each distinct state of a node decided once."""

    def __init__(self) -> None:
        self._verdicts = Verdicts()
        self._tables: dict[PodKey, VerdictTable] = {}

    def admits(self, on: ClusterNode, pod: ClusterPod, shape: PodKey) -> bool:
        table = self._tables.get(shape)
        if table is None:
            table = self._tables[shape] = self._verdicts.table(pod.pod)
        return table.verdict(self._verdicts.reader.facts(on.name, on.node)).admitted


class StateJudge:
    """Verdicts on one new pod, for nodes in hypothetical states."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self._reader = FactReader()
        self._table = Verdicts().table(pod)
        self._last: StateFacts | None = None

    def facts(self, node: Node) -> StateFacts:
        """Return the facts of a node; those of the last node are cached."""
        if self._last is None or self._last.node is not node:
            self._last = self._reader.facts(node)
        return self._last

    def asking(self, facts: StateFacts) -> Asking:
        return self._table.asking(facts.node_class)

    def rejection(self, node: Node) -> Rejection | None:
        """Return why the node rejects the pod, with the figures of this node or one alike."""
        if not self._is_new(node):
            return node.admit(self._pod)[1].rejection
        return self._table.verdict(self.facts(node)).rejection

    def admits(self, node: Node) -> bool:
        """Return whether the node admits the pod without evictions."""
        # Verdicts are shared by states that are alike to a new, ordinary pod. A critical pod may
        # evict others, and a known pod has its own allocation.
        if self._pod.is_critical or not self._is_new(node):
            _, decision = node.admit(self._pod)
            return decision.admitted and not decision.evicted
        return self._table.verdict(self.facts(node)).admitted

    def _is_new(self, node: Node) -> bool:
        return self._pod.uid not in node.snapshot.pods
