"""A small cluster in which a ReplicaSet replaces each rejected pod at once, and time is a number.

In each step the ReplicaSet makes what is missing, the scheduler binds by sums and taints, kubelets
decide by the engine, and the breaker plans what it does: that is done a step later, as its view
and its requests are late.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numalet.core.cluster import building
from numalet.core.cluster.cluster import (
    Cluster,
    ClusterNode,
    ClusterPod,
    Controller,
    Taint,
    TaintEffect,
)
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.pod import Pod
from numalet.insight.fleet import kube_scheduler
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections import patches, planning, rejected_pod
from numalet.insight.rejections.actions import (
    Action,
    HoldController,
    LiftTaint,
    Prune,
    ReleaseController,
    TaintNode,
)
from numalet.insight.rejections.patches import EndMark
from numalet.insight.rejections.planning import BreakerState
from numalet.insight.rejections.rejected_pod import OwnerLink, RejectedPod, TopOwner
from numalet.insight.rejections.rules import BreakerRules
from numalet.insight.rejections.shape_questions import BreakerFacts, SuspendedJob
from values import gpu_fleet

START = 1_800_000_000.0
POOL = {building.POOL_LABEL: "gpus"}
REPLICA_SET = OwnerLink("apps/v1", "ReplicaSet", "default", "web-7d4b", "uid-of-web-7d4b")
DEPLOYMENT = OwnerLink("apps/v1", "Deployment", "default", "web", "uid-of-web")
JOB = OwnerLink("batch/v1", "Job", "default", "train", "uid-of-train")
USUAL = BreakerRules()
OWNER = TopOwner("Deployment", "default", "web", "apps/v1", "uid-of-web")


def big(uid: str = "asks") -> ClusterPod:
    """A pod that needs all the GPUs of a NUMA node."""
    return ClusterPod(
        pod=gpu_fleet.pod(uid, 4),
        controller=Controller(REPLICA_SET.kind, REPLICA_SET.name, REPLICA_SET.uid),
    )


def on(pod: ClusterPod, node: str, phase: str = "") -> ClusterPod:
    """The pod on this node."""
    return replace(pod, pod=replace(pod.pod, node_name=node, phase=phase))


def rejection(
    uid: str,
    node: str = "n0",
    at_seconds: float = START,
    chain: Sequence[OwnerLink] = (REPLICA_SET, DEPLOYMENT),
    pod: ClusterPod | None = None,
    **fields: Any,
) -> RejectedPod:
    """A rejected pod of a Deployment, or of other owners."""
    there = on(pod or big(uid), node, "Failed")
    top = chain[-1] if chain else OwnerLink("v1", "Pod", "default", uid, uid)
    return RejectedPod(
        pod=there,
        resource_version="7",
        reason="TopologyAffinityError",
        rejected_at_seconds=at_seconds,
        shape=rejected_pod.shape_digest(there),
        owner=TopOwner(top.kind, top.namespace, top.name, top.api_version, top.uid),
        chain=tuple(chain),
        **fields,
    )


def split(name: str) -> ClusterNode:
    """A node with 4 GPUs free, 2 on each NUMA node: a trap for the big pod."""
    pairs = [gpu_fleet.pod(f"{name}-{at}", 2) for at in range(4)]
    return replace(
        gpu_fleet.running(name, pairs, gone=(f"{name}-0", f"{name}-2")), labels=dict(POOL)
    )


def roomy(name: str) -> ClusterNode:
    """A node on which nothing runs."""
    return replace(gpu_fleet.running(name, ()), labels=dict(POOL))


def full(name: str) -> ClusterNode:
    """A node without a free GPU."""
    pods = [gpu_fleet.pod(f"{name}-{at}", 4) for at in range(2)]
    return replace(gpu_fleet.running(name, pods), labels=dict(POOL))


def listed(node: ClusterNode) -> ListedNode:
    """The Node object of it."""
    return ListedNode(
        name=node.name,
        labels=node.labels,
        taints=node.taints,
        is_cordoned=node.is_cordoned,
        is_ready=node.is_ready,
    )


def marked(node: ClusterNode, until_seconds: float, shape: str) -> ClusterNode:
    """The node with the breaker's taint."""
    value = patches.trap_value(EndMark(until_seconds, shape))
    return replace(node, taints=(*node.taints, Taint(TAINT_KEY, value, TaintEffect.NO_SCHEDULE)))


def facts(
    nodes: Iterable[ClusterNode],
    pods: Iterable[ClusterPod] = (),
    jobs: Iterable[SuspendedJob] = (),
) -> BreakerFacts:
    """What the breaker knows of these nodes and pods."""
    by_name = {each.name: each for each in nodes}
    return BreakerFacts(
        cluster=Cluster(nodes=by_name, pods={each.pod.uid: each for each in pods}),
        nodes={name: listed(each) for name, each in by_name.items()},
        suspended_jobs={each.uid: each for each in jobs},
    )


def plan(
    rejections: Iterable[RejectedPod],
    given: BreakerFacts,
    now_seconds: float = START,
    rules: BreakerRules = USUAL,
    before: BreakerState | None = None,
) -> tuple[BreakerState, tuple[Action, ...]]:
    """One plan, with an engine of its own."""
    return planning.planned(
        before or BreakerState(), rejections, given, now_seconds, rules, Assessor()
    )


@dataclass
class StormWorld:
    """Nodes, and a ReplicaSet that wants so many pods of one shape."""

    nodes: dict[str, ClusterNode]
    replicas: int
    rules: BreakerRules
    step_seconds: float = 0.1
    """Of the first seconds; a step of time in which little happens is longer."""
    binds_in_a_step: int = 4
    now_seconds: float = START
    is_acting: bool = True
    loses_a_taint: bool = False
    """Whether the next one fails, or others write over it at once."""
    held_until_seconds: float = 0.0
    """Until then the API server refuses new pods of the ReplicaSet."""
    backs_off: bool = False
    """Whether the ReplicaSet was refused, and none of its pods was deleted since."""
    running: dict[str, ClusterPod] = field(default_factory=dict)
    waiting: dict[str, ClusterPod] = field(default_factory=dict)
    failed: dict[str, RejectedPod] = field(default_factory=dict)
    log: list[tuple[float, str]] = field(default_factory=list)
    """When which node rejected a pod."""
    done: list[tuple[float, Action]] = field(default_factory=list)
    state: BreakerState = field(default_factory=BreakerState)
    _planned: tuple[Action, ...] = ()
    _assessor: Assessor = field(default_factory=Assessor)
    _count: int = 0

    def run(self, seconds: float, then_seconds: float = 0.0) -> None:
        """Let so much time pass, and then so much more in steps that are ten times as long."""
        until = self.now_seconds + seconds
        while self.now_seconds < until:
            self.step()
        self.step_seconds *= 10
        while self.now_seconds < until + then_seconds:
            self.step()
        self.step_seconds /= 10

    def restart_breaker(self) -> None:
        """Another breaker begins, without the memory of the one before."""
        self.state, self._planned, self._assessor = BreakerState(), (), Assessor()

    def tainted(self) -> list[str]:
        """The nodes that have the breaker's taint."""
        return [name for name, each in self.nodes.items() if patches.on_node(each.taints)]

    def step(self) -> None:
        """One step."""
        self.now_seconds = round(self.now_seconds + self.step_seconds, 3)
        if self.now_seconds < self.held_until_seconds:
            self.backs_off = True
        while not self.backs_off and len(self.running) + len(self.waiting) < self.replicas:
            self._count += 1
            uid = f"web-{self._count:06d}"
            self.waiting[uid] = big(uid)
        for each in self._planned:
            self._do(each)
        self._plan()
        bound = [self._bind(uid) for uid in list(self.waiting)[: self.binds_in_a_step]]
        for uid, name in [each for each in bound if each is not None]:
            self._decide(uid, name)

    def _bind(self, uid: str) -> tuple[str, str] | None:
        question = kube_scheduler.SchedulerQuestion.about(self.waiting[uid])
        fitting = [
            (question.left(each), name)
            for name, each in sorted(self.nodes.items())
            if question.why_not(each) is None
        ]
        if not fitting:
            return None
        # The node with most left, as kube-scheduler prefers by default; of equal ones in turn.
        best = max(left for left, _ in fitting)
        names = [name for left, name in fitting if left == best]
        return uid, names[len(self.log) % len(names)]

    def _decide(self, uid: str, name: str) -> None:
        there, pod = self.nodes[name], on(self.waiting.pop(uid), name)
        node, decision = there.node.admit(pod.pod)
        if decision.admitted:
            self.nodes[name] = replace(there, node=node.pod_started(uid))
            self.running[uid] = pod
            return
        self.log.append((self.now_seconds, name))
        self.failed[uid] = rejection(uid, name, self.now_seconds, pod=pod)

    def _plan(self) -> None:
        if not self.is_acting:
            return
        pods = [*self.waiting.values(), *self.running.values()]
        given = facts(self.nodes.values(), pods)
        self.state, self._planned = planning.planned(
            self.state,
            list(self.failed.values()),
            given,
            self.now_seconds,
            self.rules,
            self._assessor,
        )

    def _do(self, action: Action) -> None:
        self.done.append((self.now_seconds, action))
        match action:
            case Prune():
                self.failed.pop(action.uid, None)
                self.backs_off = False
            case TaintNode() if self.loses_a_taint:
                self.loses_a_taint = False
            case TaintNode():
                bare = self._without_mark(action.node)
                self.nodes[action.node] = marked(bare, action.until_seconds, action.shape)
            case HoldController():
                self.held_until_seconds = action.until_seconds
            case ReleaseController():
                self.held_until_seconds = 0.0
            case LiftTaint():
                self.nodes[action.node] = self._without_mark(action.node)
            case _:
                pass

    def _without_mark(self, name: str) -> ClusterNode:
        node: Any = self.nodes[name]
        kept = tuple(each for each in node.taints if each.key != TAINT_KEY)
        there: ClusterNode = replace(node, taints=kept)
        return there


def node_map(nodes: Iterable[ClusterNode]) -> dict[str, ClusterNode]:
    """The nodes by name."""
    return {each.name: each for each in nodes}


def without(node: ClusterNode, pods: Iterable[str]) -> ClusterNode:
    """The node once these pods have gone."""
    there = node.node
    for uid in pods:
        there = there.remove(uid)
    return replace(node, node=there.release_stale())


def pods_of(node: ClusterNode) -> list[Pod]:
    """The pods on it."""
    return list(node.node.snapshot.pods.values())
