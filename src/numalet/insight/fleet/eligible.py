"""The scheduler's checks of a node, by the data of the API server: sums without NUMA nodes.

kube-scheduler v1.32: the plugins NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts and
NodeResourcesFit, in this order; the first reason is returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, TypeAlias

from numalet.core.admission import node_affinity
from numalet.core.cluster import scheduler_sums
from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Taint, TaintEffect
from numalet.core.model import pod_demand, resources
from numalet.core.model.node_constraints import UNCONSTRAINED, NodeConstraints
from numalet.core.model.node_identity import NodeIdentity
from numalet.core.model.value import Value, replace
from numalet.insight.fleet.worded import Worded, WordedAmount

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
        ordered = sorted(asked.items(), key=lambda each: ("/" not in each[0], each))
        return SchedulerQuestion(pod, tuple(ordered))

    def why_not(self, node: ClusterNode) -> SchedulerReason | None:
        return next(self._reasons(node), None)

    def about_the_node(self, node: ClusterNode) -> SchedulerReason | None:
        """Return the first reason that does not depend on running pods."""
        return next(self._about_the_node(node), None)

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
            if asked > left and "/" in name:
                yield TooFewDevices(name, max(0, left))
            elif asked > left:
                yield TooLittleInAll(name, asked)

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


def whatever_its_room(node: ClusterNode, pod: ClusterPod) -> SchedulerReason | None:
    """Return the first reason that does not depend on running pods."""
    return SchedulerQuestion(pod, ()).about_the_node(node)


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
