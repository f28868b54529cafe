"""Facts of the cluster that the planners share: waiting shapes, and decisions on them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.cluster.cluster import Cluster, ClusterPod, Taint, TaintEffect
from numalet.core.cluster.holding import expected
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.value import Value, field
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections.rejected_pod import shape_digest
from numalet.insight.rejections.rules import BreakerScope


class SuspendedJob(Value, kw_only=True):
    """A Job with the breaker's mark. ``pod`` is one of its template, if that could be read."""

    namespace: str
    name: str
    uid: str
    until_seconds: float
    shape: str
    pod: ClusterPod | None = None


class BreakerFacts(Value, kw_only=True):
    """The cluster at one time.

    ``cluster`` decides which node admits a shape and which pods wait. ``nodes`` are all Node
    objects by name, including undecided nodes: the cap is calculated from their labels, taints and
    readiness. ``suspended_jobs`` are by uid.
    """

    cluster: Cluster
    nodes: Mapping[str, ListedNode]
    suspended_jobs: Mapping[str, SuspendedJob] = MappingProxyType({})


_UNDECIDED_PHASES: Final = frozenset({"", "Pending"})
_TRAP_TAINT: Final = Taint(TAINT_KEY, "", TaintEffect.NO_SCHEDULE)


class WaitingShapes(Value):
    """The shapes of pods without a node: one pod of each, by digest.

    ``digests`` are by the uid of the pod, so that each is calculated once. ``since_seconds`` has
    the shapes of pods in the scope, and when the first pod of each was created.
    """

    by_digest: Mapping[str, ClusterPod] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    since_seconds: Mapping[str, float] = field(default_factory=dict)


def waiting(cluster: Cluster, before: Mapping[str, str], scope: BreakerScope) -> WaitingShapes:
    """Return the waiting shapes; ``before`` are known digests."""
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
    """Return the cluster after kubelets have decided on the pods on their way.

    Returns the same object if there are no such pods.
    """
    # In a storm many pods are on their way. The sums include them although they will be rejected,
    # so a node would seem fuller than it is.
    names = {
        each.pod.node_name
        for each in cluster.pods.values()
        if each.pod.node_name in cluster.nodes and each.pod.phase in _UNDECIDED_PHASES
    }
    nodes = [(cluster.nodes[name], expected(cluster.nodes[name])) for name in sorted(names)]
    changed = [after for before, after in nodes if after is not before]
    return cluster.with_nodes(changed) if changed else cluster


class ShapeQuestions(Value):
    """Decisions on shapes that are represented by one pod each, by digest.

    ``cluster`` is ``settled``.
    """

    cluster: Cluster
    assessor: Assessor
    pods: Mapping[str, ClusterPod]

    def is_admitted_on(self, node: str, shape: str) -> bool | None:
        there, pod = self.cluster.nodes.get(node), self.pods.get(shape)
        if there is None or pod is None:
            return None
        verdicts = self.assessor.verdicts
        return verdicts.table(pod.pod).verdict(verdicts.reader.facts(node, there.node)).admitted

    def heeds_taint(self, shape: str) -> bool:
        """Return whether the taint keeps pods of the shape away, and they could run elsewhere."""
        pod = self.pods.get(shape)
        if pod is None:
            return True
        # A pod that tolerates every taint is still bound to the node, and a DaemonSet makes its
        # pods for one node each.
        tolerates = any(each.tolerates(_TRAP_TAINT) for each in pod.tolerations)
        return not tolerates and not pod.comes_with_its_node

    def count(self, pod: ClusterPod, most: int) -> int | None:
        """Return how many copies of the pod fit now, up to ``most``, if known."""
        fitting = self.assessor.count(self.cluster, pod, most)
        # With undecided nodes, 0 on the others proves nothing.
        return None if not fitting and self.cluster.undecided else fitting

    def open_traps(self, shape: str) -> tuple[frozenset[str], bool]:
        """Return the nodes that the scheduler would choose for the shape and that would refuse it.

        The second value is whether a node might admit it: one does, or there are undecided nodes.
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
        """Return the nodes that keep an autoscaler from adding one for the shape.

        The scheduler would choose them, and all would refuse it; empty if one would admit it.
        Undecided nodes are ignored.
        """
        assessed = self.assessor.assess(self.cluster, self.pods[shape])
        to_it = {name: each for name, each in assessed.items() if each.scheduler is None}
        return frozenset() if any(each.fits for each in to_it.values()) else frozenset(to_it)
