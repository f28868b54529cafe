"""Every node of a cluster on one pod: why it is not sent there, why it is refused, or that it fits.

Two judges, one after the other: the scheduler, by labels, taints and sums (``eligible``), and the
kubelet of the node, by the engine (``core.cluster.verdicts``). A node that is the same object as
before is not asked again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from numalet.core.admission.reasons import Rejection
from numalet.core.cluster import keys, shapes, verdicts
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod
from numalet.core.cluster.shapes import PodKey
from numalet.core.cluster.verdicts import NodeVerdict, Verdicts, VerdictTable
from numalet.core.model.pod import Pod
from numalet.insight.fleet import eligible, obstacles
from numalet.insight.fleet.eligible import (
    SchedulerQuestion,
    SchedulerReason,
    TooFewDevices,
    TooLittleInAll,
)
from numalet.insight.fleet.obstacles import DevicesApart, NeverTogether, Obstacle

WhyNot: TypeAlias = SchedulerReason | Obstacle

_MOST_SHAPES: Final = 64


@dataclass(frozen=True, slots=True)
class Assessment:
    """What became of the question on one node.

    ``scheduler`` is why no pod of the shape is sent there; ``rejection`` and ``obstacle`` are set
    where the kubelet would refuse it, whether or not it is sent. ``left`` is what is left there, by
    the sums, of each resource that the pod asks for, devices first.
    """

    node: ClusterNode
    scheduler: SchedulerReason | None
    rejection: Rejection | None
    obstacle: Obstacle | None
    left: tuple[int, ...]

    @property
    def fits(self) -> bool:
        """Whether the pod is sent to the node and admitted there."""
        return self.scheduler is None and self.rejection is None

    @property
    def why_not(self) -> WhyNot | None:
        """The reason that comes first, the scheduler's before the kubelet's; None if it fits.

        Of sums that do not do the obstacle says more: where the rest is, and that no other pods
        need to go because it would not help.
        """
        is_sum = isinstance(self.scheduler, TooFewDevices | TooLittleInAll)
        if is_sum and isinstance(self.obstacle, NeverTogether | DevicesApart):
            return self.obstacle
        return self.scheduler or self.obstacle


@dataclass(eq=False)
class Assessor:
    """Assesses nodes, and remembers what it was asked last. Safe for one thread."""

    verdicts: Verdicts = field(default_factory=Verdicts)
    _by_shape: OrderedDict[PodKey, dict[str, Assessment]] = field(default_factory=OrderedDict)

    def assess(self, cluster: Cluster, pod: ClusterPod) -> dict[str, Assessment]:
        """Every node on which can be decided, by name, for a new pod of this shape."""
        pod = eligible.as_new(pod)
        key = shapes.key_of(pod)
        before = self._by_shape.get(key, {})
        changed = [
            each
            for name, each in cluster.nodes.items()
            if name not in before or before[name].node is not each
        ]
        if changed or len(before) != len(cluster.nodes):
            anew = self._anew(cluster, changed, pod)
            before = {name: anew.get(name) or before[name] for name in cluster.nodes}
        self._by_shape[key] = before
        self._by_shape.move_to_end(key)
        while len(self._by_shape) > _MOST_SHAPES:
            self._by_shape.popitem(last=False)
        return before

    def _anew(
        self, cluster: Cluster, changed: Iterable[ClusterNode], pod: ClusterPod
    ) -> dict[str, Assessment]:
        self.verdicts.reader.keep_only(cluster.nodes)
        table = self.verdicts.table(pod.pod)
        question = SchedulerQuestion.about(pod)
        every = tuple(changed)
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
        """Whether another one fits on a node that is no node of a cluster, and what is left."""
        question = SchedulerQuestion.about(pod)
        table = self.verdicts.table(pod.pod)
        verdict = table.verdict(self.verdicts.reader.reader.facts(node.node))
        return verdict.admitted and question.why_not(node) is None, question.left(node)

    def copies(self, fitting: ClusterNode, pod: ClusterPod) -> int:
        """How many copies a node takes, on which one fits; each is admitted by the engine in turn.

        Worked out once for nodes whose states have every number in common.
        """
        table, reader = self.verdicts.table(pod.pod), self.verdicts.reader.reader
        question, node, passed = SchedulerQuestion.about(pod), fitting, []
        while True:
            facts = reader.facts(node.node)
            key = keys.whole(facts, table.asking(facts.node_class))
            count = table.copies.get(key)
            if count is None and (
                question.why_not(node) is not None or not table.verdict(facts).admitted
            ):
                count = 0
            passed.append(key)
            if count is not None:
                break
            decision = verdicts.try_out(node.node, copy_of(pod.pod, len(passed)))
            node = replace(node, node=node.node.at(decision.after))
        for number, each in enumerate(reversed(passed)):
            table.remember_copies(each, count + number)
        return count + len(passed) - 1


def copy_of(pod: Pod, number: int) -> Pod:
    """The copy of this number, as a pod with a uid and a name of its own."""
    return replace(pod, uid=f"copy-{number}-of-{pod.uid}", name=f"{pod.name}-{number}")
