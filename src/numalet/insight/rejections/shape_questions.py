"""Which shapes wait, and what the engine says to them, for the planners of the single measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.cluster.cluster import Cluster, ClusterPod, Taint, TaintEffect
from numalet.core.cluster.expected import expected
from numalet.core.model.value import Value, field
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections.rejected_pod import shape_digest
from numalet.insight.rejections.rules import BreakerScope

_UNDECIDED_PHASES: Final = frozenset({"", "Pending"})
_TRAP_TAINT: Final = Taint(TAINT_KEY, "", TaintEffect.NO_SCHEDULE)


class WaitingShapes(Value):
    """The shapes of pods that no node has yet: one pod of each, by its digest.

    ``digests`` are by the uid of the pod, so that each is worked out once. ``since_seconds`` has
    the shapes of pods in the scope, and when the first one of each was created.
    """

    by_digest: Mapping[str, ClusterPod] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    since_seconds: Mapping[str, float] = field(default_factory=dict)


def waiting(cluster: Cluster, before: Mapping[str, str], scope: BreakerScope) -> WaitingShapes:
    """The shapes that wait now; ``before`` are the digests that are known."""
    by_digest: dict[str, ClusterPod] = {}
    digests: dict[str, str] = {}
    since: dict[str, float] = {}
    for each in cluster.waiting():
        uid = each.pod.uid
        digests[uid] = digest = before.get(uid) or shape_digest(each)
        by_digest.setdefault(digest, each)
        if each.created_at_seconds is not None and scope.covers_waiting(each):
            since.setdefault(digest, each.created_at_seconds)
    return WaitingShapes(by_digest, digests, since)


def settled(cluster: Cluster) -> Cluster:
    """The cluster once kubelets have decided on the pods that are on their way to them.

    In a storm many are, and the sums count them although they will be rejected: a node would seem
    to lack what it has. It is the same object where none is on its way.
    """
    names = {
        each.pod.node_name
        for each in cluster.pods.values()
        if each.pod.node_name in cluster.nodes and each.pod.phase in _UNDECIDED_PHASES
    }
    nodes = [(cluster.nodes[name], expected(cluster.nodes[name])) for name in sorted(names)]
    changed = [after for before, after in nodes if after is not before]
    return cluster.with_nodes(changed) if changed else cluster


class ShapeQuestions(Value):
    """The engine, asked about shapes of which one pod is known by its digest.

    ``cluster`` is ``settled``.
    """

    cluster: Cluster
    assessor: Assessor
    pods: Mapping[str, ClusterPod]

    def is_admitted_on(self, node: str, shape: str) -> bool | None:
        """Whether the node's kubelet would admit a pod of the shape; None if it is not known."""
        there, pod = self.cluster.nodes.get(node), self.pods.get(shape)
        if there is None or pod is None:
            return None
        verdicts = self.assessor.verdicts
        return verdicts.table(pod.pod).verdict(verdicts.reader.facts(node, there.node)).admitted

    def heeds_taint(self, shape: str) -> bool:
        """Whether the trap's taint keeps pods of the shape away, and they could go elsewhere.

        A pod that tolerates every taint is sent to the node as before, and a DaemonSet makes its
        pods for one node each.
        """
        pod = self.pods.get(shape)
        if pod is None:
            return True
        tolerates = any(each.tolerates(_TRAP_TAINT) for each in pod.tolerations)
        return not tolerates and not pod.comes_with_its_node

    def count(self, pod: ClusterPod, most: int) -> int | None:
        """How many copies of the pod fit now, counted up to ``most``.

        None if that is not known: none fits, and nothing can be decided on some nodes.
        """
        fitting = self.assessor.count(self.cluster, pod, most)
        return None if not fitting and self.cluster.undecided else fitting

    def open_traps(self, shape: str) -> tuple[frozenset[str], bool]:
        """The nodes to which the scheduler would send the shape and that would refuse it.

        And whether one might admit it: one does, or nothing can be decided on some node.
        """
        pod = self.pods.get(shape)
        if pod is None:
            return frozenset(), True
        assessed = self.assessor.assess(self.cluster, pod)
        traps = frozenset(
            name
            for name, each in assessed.items()
            if each.scheduler is None and each.rejection is not None
        )
        has_hope = bool(self.cluster.undecided) or any(each.fits for each in assessed.values())
        return traps, has_hope

    def hiding(self, shape: str) -> frozenset[str]:
        """The nodes for whose sake an autoscaler adds none for the shape.

        The scheduler would send it there, and all of them would refuse it. None where one would
        admit it. Nodes on which nothing can be decided do not count.
        """
        assessed = self.assessor.assess(self.cluster, self.pods[shape])
        to_it = {name: each for name, each in assessed.items() if each.scheduler is None}
        return frozenset() if any(each.fits for each in to_it.values()) else frozenset(to_it)
