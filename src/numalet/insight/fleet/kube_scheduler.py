"""The decisions of kube-scheduler v1.32 by the sums of a node, without NUMA nodes.

Checks: the plugins NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts and
NodeResourcesFit, in this order; the first reason is returned. The choice among the nodes with room
is the best score by sums.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from itertools import chain
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias

from numalet.core.admission import node_affinity
from numalet.core.cluster import scheduler_sums
from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Taint, TaintEffect
from numalet.core.model import pod_demand, resources
from numalet.core.model.node_constraints import UNCONSTRAINED, NodeConstraints, NodeIdentity
from numalet.core.model.value import Value, replace
from numalet.wording import explanations, numbers


class Worded(Value):
    """A reason why a pod does not fit. ``text`` follows "61 nodes: "."""

    code: ClassVar[str]
    sentence: ClassVar[str]

    @property
    def text(self) -> str:
        return self.sentence.format(**explanations.fields_of(self))


class WordedAmount(Worded):
    """A reason about an amount of one resource; CPU is in thousandths, with special words."""

    of_cpus: ClassVar[str]
    resource: str
    asked: int

    @property
    def text(self) -> str:
        sentence = self.of_cpus if self.resource == resources.CPU else self.sentence
        return sentence.format(**explanations.fields_of(self) | self._amounts())

    def _amounts(self) -> dict[str, Any]:
        return {"asked": numbers.amount(self.resource, self.asked)}


UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "", TaintEffect.NO_SCHEDULE)
NOT_READY: Final = Taint("node.kubernetes.io/not-ready", "", TaintEffect.NO_SCHEDULE)


class Cordoned(Worded):
    code: ClassVar[str] = "fleet/cordoned"
    sentence: ClassVar[str] = "cordoned"


class NotReady(Worded):
    code: ClassVar[str] = "fleet/not-ready"
    sentence: ClassVar[str] = "not ready"


class Tainted(Worded):
    code: ClassVar[str] = "fleet/tainted"
    sentence: ClassVar[str] = "taint {taint}, which the pod does not tolerate"
    taint: str


class NotSelected(Worded):
    code: ClassVar[str] = "fleet/not-selected"
    sentence: ClassVar[str] = "other labels than the pod's selector and affinity ask for"


class PortInUse(Worded):
    code: ClassVar[str] = "fleet/port-in-use"
    sentence: ClassVar[str] = "port {port} of the host in use"
    port: str


class NoRoomForPods(Worded):
    code: ClassVar[str] = "fleet/no-room-for-pods"
    sentence: ClassVar[str] = "no room for more than {most} pods"
    most: int


class TooLittleInAll(WordedAmount):
    code: ClassVar[str] = "fleet/too-little-in-all"
    sentence: ClassVar[str] = "less than {asked} of {resource} free in all"
    of_cpus: ClassVar[str] = "fewer than {asked} CPUs free in all"
    resource: str
    asked: int


class TooFewDevices(Worded):
    code: ClassVar[str] = "fleet/too-few-devices"
    sentence: ClassVar[str] = "{free} of {resource} free"
    resource: str
    free: int


SchedulerReason: TypeAlias = (
    Cordoned
    | NotReady
    | Tainted
    | NotSelected
    | PortInUse
    | NoRoomForPods
    | TooLittleInAll
    | TooFewDevices
)


class SchedulerQuestion(Value):
    """One pod for checks on many nodes. ``amounts`` are devices first, then the rest."""

    pod: ClusterPod
    amounts: tuple[tuple[str, int], ...]

    @staticmethod
    def about(pod: ClusterPod) -> SchedulerQuestion:
        # The ephemeral storage of nodes is not known, so it is not checked.
        asked = dict(pod_demand.amounts(pod.pod))
        asked.pop(resources.EPHEMERAL_STORAGE, None)
        # Devices first: they are the scarcest, and the first reason is the one that is shown.
        ordered = sorted(asked.items(), key=lambda each: (not resources.is_device(each[0]), each))
        return SchedulerQuestion(pod, tuple(ordered))

    def why_not(self, node: ClusterNode) -> SchedulerReason | None:
        return next(self._reasons(node), None)

    def about_the_node(self, node: ClusterNode) -> SchedulerReason | None:
        """Return the first reason that does not depend on running pods.

        A kubelet would admit a pod that asks for devices of a kind that its node does not have.
        """
        missing = (
            _too_little(name, asked, 0)
            for name, asked in self.amounts
            if scheduler_sums.allocatable_of(node.node, name) == 0
        )
        return next(chain(self._about_the_node(node), missing), None)

    def left(self, node: ClusterNode) -> tuple[int, ...]:
        return tuple([scheduler_sums.free_of(node.node, name) for name, _ in self.amounts])

    def _reasons(self, node: ClusterNode) -> Iterator[SchedulerReason]:
        yield from self._about_the_node(node)
        requested = node.node.snapshot.requested
        constraints = self.pod.pod.constraints or UNCONSTRAINED
        for port in constraints.ports:
            if not requested.has_free(port):
                yield PortInUse(f"{port.number}/{port.protocol}")
        most = node.node.rules.max_pods
        if requested.pods + 1 > most:
            yield NoRoomForPods(most)
        for name, asked in self.amounts:
            left = scheduler_sums.free_of(node.node, name)
            if asked > left:
                yield _too_little(name, asked, left)

    def _about_the_node(self, node: ClusterNode) -> Iterator[SchedulerReason]:
        if node.is_cordoned and not self._tolerates(UNSCHEDULABLE):
            yield Cordoned()
        if not node.is_ready and not self._tolerates(NOT_READY):
            yield NotReady()
        for taint in node.taints:
            # A soft taint only lowers the score.
            keeps_away = taint.effect is not TaintEffect.PREFER_NO_SCHEDULE
            if keeps_away and not self._tolerates(taint):
                yield Tainted(taint_text(taint))
        constraints = self.pod.pod.constraints
        if constraints is not None and not _is_selected(constraints, node):
            yield NotSelected()

    def _tolerates(self, taint: Taint) -> bool:
        return any(each.tolerates(taint) for each in self.pod.tolerations)


def why_not(node: ClusterNode, pod: ClusterPod) -> SchedulerReason | None:
    return SchedulerQuestion.about(pod).why_not(node)


def _too_little(resource: str, asked: int, left: int) -> SchedulerReason:
    if resources.is_device(resource):
        return TooFewDevices(resource, max(0, left))
    return TooLittleInAll(resource, asked)


def _is_selected(constraints: NodeConstraints, node: ClusterNode) -> bool:
    if not constraints.selector and constraints.affinity is None:
        return True
    # All labels are known, so the result is never "unknown".
    identity = NodeIdentity(name=node.name, labels=node.labels, has_all_labels=True)
    return node_affinity.matches(constraints, identity) is True


def taint_text(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect.value}"


def as_new(pod: ClusterPod) -> ClusterPod:
    """Return the pod as its controller would create another one."""
    return replace(
        pod,
        pod=replace(pod.pod, node_name="", phase="", allocated=None),
        started_at_seconds=None,
        is_being_deleted=False,
        reason="",
    )


_MOST_POINTS: Final = 100


class Strategy(Enum):
    """``scoringStrategy.type`` of the plugin NodeResourcesFit."""

    LEAST_ALLOCATED = "LeastAllocated"
    """Nodes with more left are better: pods are spread."""
    MOST_ALLOCATED = "MostAllocated"
    """Nodes with less left are better: pods are packed."""


class Scoring(Value):
    """A strategy, and the weight of each resource; by default equal for ``cpu`` and ``memory``.

    kube-scheduler chooses at random among equal scores; here the first name wins, so that results
    repeat. Its other scoring plugins (balance between resources, spreading, images) are left out.
    """

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
            # The cheap test of the whole bucket comes before the checks of its nodes.
            if not scheduler_sums.has_room(free, asked):
                continue
            if is_same and why_not(self._nodes[names[0]], pod) is not None:
                continue
            score = self._scoring.score(there, free, asked)
            ranks.setdefault(score, []).extend(names)
        for score in sorted(ranks, reverse=True):
            for name in sorted(ranks[score]):
                node = self._nodes[name]
                if is_same or why_not(node, pod) is None:
                    yield node

    def _in_question(self, among: Collection[str] | None) -> Iterator[tuple[_Bucket, list[str]]]:
        if among is None:
            yield from self._names.items()
            return
        for name in among:
            yield self._bucket_of[name], [name]
