"""Assess a pod on every node of a cluster, as the scheduler and then as the kubelet.

``kube_scheduler`` has the scheduler's checks; the engine decides for the kubelet
(``core.cluster.verdicts``). A node that is the same object as before is not checked again: a
followed cluster becomes a new value after every change, with the same objects for most nodes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar

from numalet.core.admission.reasons import Rejection
from numalet.core.cluster import keys, scheduler_sums, shapes, verdicts
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod
from numalet.core.cluster.facts import FactReader, StateFacts
from numalet.core.cluster.shapes import PodKey
from numalet.core.cluster.verdicts import NodeVerdict, Verdicts, VerdictTable
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node
from numalet.insight.fleet import kube_scheduler, obstacles
from numalet.insight.fleet.kube_scheduler import (
    SchedulerQuestion,
    SchedulerReason,
    TooFewDevices,
    TooLittleInAll,
)
from numalet.insight.fleet.obstacles import DevicesApart, NeverTogether, Obstacle


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
        # One node only: a search asks about one state several times in a row and then never again.
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


T = TypeVar("T")

Nodes: TypeAlias = Mapping[str, ClusterNode]
_NONE: Final[Nodes] = MappingProxyType({})


class Difference(Value, Generic[T]):
    """New and replaced items, and the keys of deleted ones."""

    changed: Mapping[str, T]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone)


def difference(before: Mapping[str, T], now: Mapping[str, T]) -> Difference[T]:
    """Compare two mappings by the identity of their values."""
    # By identity: nodes and pods are immutable, and comparing their content would cost more than
    # assessing them again.
    changed = {key: item for key, item in now.items() if before.get(key) is not item}
    return Difference(changed, tuple([key for key in before if key not in now]))


class NodeDifferences:
    def __init__(self) -> None:
        self._between: tuple[Nodes, Nodes] = (_NONE, _NONE)
        self._last: Difference[ClusterNode] = Difference({}, ())

    def between(self, before: Nodes, now: Nodes) -> Difference[ClusterNode]:
        if self._between[0] is not before or self._between[1] is not now:
            self._between, self._last = (before, now), difference(before, now)
        return self._last


class NodeMemo(Generic[T]):
    """A cached value of every node of a cluster. For one thread."""

    def __init__(self, differences: NodeDifferences) -> None:
        self._differences = differences
        self._nodes = _NONE
        self._values: dict[str, T] = {}

    def of(
        self, nodes: Nodes, make: Callable[[Iterable[ClusterNode]], Mapping[str, T]]
    ) -> dict[str, T]:
        """Return the values by node name; ``make`` is called only for changed nodes.

        Returns the same mapping until a node is replaced; mappings never change afterwards.
        """
        if nodes is not self._nodes:
            different = self._differences.between(self._nodes, nodes)
            if different:
                values = dict(self._values)
                for name in different.gone:
                    del values[name]
                values.update(make(different.changed.values()))
                self._values = values
            self._nodes = nodes
        return self._values


WhyNot: TypeAlias = SchedulerReason | Obstacle

_MOST_SHAPES: Final = 64
_MOST_GONE: Final = 1000
"""Remembered deleted nodes, in addition to the existing ones."""


class Assessment(Value):
    """The assessment of one node.

    ``scheduler`` is why the scheduler sends no pod of the shape there. ``rejection`` and
    ``obstacle`` are set if the kubelet would refuse it, sent or not. ``left`` is the free sum of
    each requested resource, devices first.
    """

    node: ClusterNode
    scheduler: SchedulerReason | None
    rejection: Rejection | None
    obstacle: Obstacle | None
    left: tuple[int, ...]

    @property
    def fits(self) -> bool:
        return self.scheduler is None and self.rejection is None

    @property
    def why_not(self) -> WhyNot | None:
        """The first reason, the scheduler's before the kubelet's."""
        # If sums are too small, the obstacle says more: where the rest is, and that evictions would
        # not help.
        is_sum = isinstance(self.scheduler, TooFewDevices | TooLittleInAll)
        if is_sum and isinstance(self.obstacle, NeverTogether | DevicesApart):
            return self.obstacle
        return self.scheduler or self.obstacle


@dataclass(eq=False)
class _ShapeMemo:
    assessed: NodeMemo[Assessment]
    copies: dict[str, tuple[ClusterNode, int]] = field(default_factory=dict)
    """How many copies a node takes, by node name."""


class Assessor:
    """Assesses nodes and caches the last results. For one thread."""

    def __init__(self) -> None:
        self.verdicts = Verdicts()
        self.differences = NodeDifferences()
        self.asked_nodes = 0
        """Number of assessments, one for each new node object."""
        self._by_shape: OrderedDict[PodKey, _ShapeMemo] = OrderedDict()
        self._free: NodeMemo[Mapping[str, int]] = NodeMemo(self.differences)

    def assess(self, cluster: Cluster, pod: ClusterPod) -> Mapping[str, Assessment]:
        """Assess a new pod of this shape on every decided node, by name."""
        pod = kube_scheduler.as_new(pod)
        memo = self._memo(pod)
        return memo.assessed.of(cluster.nodes, lambda nodes: self.anew(cluster, nodes, pod))

    def free(self, cluster: Cluster) -> Mapping[str, Mapping[str, int]]:
        """Return the free sums of every node, by its name and by resource."""
        return self._free.of(
            cluster.nodes,
            lambda nodes: {each.name: scheduler_sums.free(each.node) for each in nodes},
        )

    def _memo(self, pod: ClusterPod) -> _ShapeMemo:
        key = shapes.key_of(pod)
        memo = self._by_shape.get(key)
        if memo is None:
            memo = self._by_shape[key] = _ShapeMemo(NodeMemo(self.differences))
            while len(self._by_shape) > _MOST_SHAPES:
                self._by_shape.popitem(last=False)
        self._by_shape.move_to_end(key)
        return memo

    def anew(
        self, cluster: Cluster, nodes: Iterable[ClusterNode], pod: ClusterPod
    ) -> dict[str, Assessment]:
        """Assess some nodes for a pod that is ``as_new``; not cached."""
        self.verdicts.reader.keep_only(cluster.nodes)
        table = self.verdicts.table(pod.pod)
        question = SchedulerQuestion.about(pod)
        every = tuple(nodes)
        self.asked_nodes += len(every)
        given = table.decide(every)
        return {each.name: self._one(each, question, table, given[each.name]) for each in every}

    def _one(
        self,
        node: ClusterNode,
        question: SchedulerQuestion,
        table: VerdictTable,
        verdict: NodeVerdict,
    ) -> Assessment:
        obstacle = None
        if verdict.rejection is not None:
            facts = self.verdicts.reader.facts(node.name, node.node)
            counted = table.asking(facts.node_class).pod
            obstacle = obstacles.of(facts, counted, verdict.rejection)
        scheduler, left = question.why_not(node), question.left(node)
        return Assessment(node, scheduler, verdict.rejection, obstacle, left)

    def after(self, node: ClusterNode, pod: ClusterPod) -> tuple[bool, tuple[int, ...]]:
        """Return whether another copy fits on a node outside the cluster, and its free sums."""
        question = SchedulerQuestion.about(pod)
        table = self.verdicts.table(pod.pod)
        verdict = table.verdict(self.verdicts.reader.reader.facts(node.node))
        return verdict.admitted and question.why_not(node) is None, question.left(node)

    def count(self, cluster: Cluster, pod: ClusterPod, most: int) -> int:
        """Return how many copies fit on all nodes together, up to ``most``."""
        pod, count = kube_scheduler.as_new(pod), 0
        assessed, known = self.assess(cluster, pod), self._memo(pod).copies
        # Names of deleted nodes are dropped in one go, not at every call.
        if len(known) > 2 * len(assessed) + _MOST_GONE:
            for name in known.keys() - assessed.keys():
                del known[name]
        for name, each in assessed.items():
            if each.scheduler is not None or each.rejection is not None:
                continue
            before = known.get(name)
            if before is None or before[0] is not each.node:
                before = known[name] = (each.node, self.copies(each.node, pod))
            # Nodes do not affect each other, so their counts are added.
            count += before[1]
            if count >= most:
                return most
        return count

    def copies(self, fitting: ClusterNode, pod: ClusterPod) -> int:
        """Return how many copies a node takes that takes one; the engine admits each in turn."""
        table, reader = self.verdicts.table(pod.pod), self.verdicts.reader.reader
        question, node, passed = SchedulerQuestion.about(pod), fitting, []
        while True:
            facts = reader.facts(node.node)
            key = keys.whole(facts, table.asking(facts.node_class))
            # Nodes with equal keys take equally many, so most nodes end here at once.
            count = table.copies.get(key)
            if count is None and (
                question.why_not(node) is not None or not table.verdict(facts).admitted
            ):
                count = 0
            passed.append(key)
            if count is not None:
                break
            # A real admission and not a division of free amounts: fragmentation and alignment
            # decide how many copies fit.
            decision = verdicts.try_out(node.node, copy_of(pod.pod, len(passed)))
            node = replace(node, node=node.node.at(decision.after))
        # Every state on the way is known now: each takes one copy more than the next.
        for number, each in enumerate(reversed(passed)):
            table.remember_copies(each, count + number)
        return count + len(passed) - 1


def copy_of(pod: Pod, number: int) -> Pod:
    return replace(pod, uid=f"copy-{number}-of-{pod.uid}", name=f"{pod.name}-{number}")
