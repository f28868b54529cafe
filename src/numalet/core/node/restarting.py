"""A kubelet starts again with its state files and admits the pods that run once more.

The kubelet admits every pod that its sources name, running or not, and before all sources are
ready. Records of pods that it has not seen yet keep their resources until then. Kubelet:
``HandlePodAdditions``, v1.32, which sorts the pods of a source by their creation.

A kubelet starts without any device plugin. Plugins register again when they notice the start, and
the kubelet does not wait for them. A container that runs keeps its devices; of any other one,
such as an init container that has ended, the kubelet asks the plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import AllocationRefused
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.reasons import NoneHealthy, NotRegistered
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_identity import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.pod import ContainerKey, ContainerKind, Pod
from numalet.core.model.pod_standing import PENDING
from numalet.core.model.value import Value
from numalet.core.node import node as nodes
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement


class Move(Value):
    """A container that runs, what it holds by the state files, and what it holds afterwards."""

    container: str
    held: Placement
    holds: Placement


class Readmission(Value):
    """The decision on a pod that the kubelet sees again.

    ``waits_for_plugin`` says that the pod is rejected only if the kubelet sees it before the
    device plugin has registered. ``moves`` are the containers that do not keep what they have.
    """

    decision: Decision
    waits_for_plugin: bool = False
    moves: tuple[Move, ...] = ()

    @property
    def pod(self) -> Pod:
        """The pod that was seen again."""
        return self.decision.pod


class KubeletRestart(Value):
    """A kubelet that started again, and what it decided; its sources are not ready yet.

    ``began`` is the node before it saw a pod, ``node`` the node after it saw all.
    """

    began: Node
    node: Node
    pods: tuple[Readmission, ...]

    @property
    def rejected(self) -> tuple[Readmission, ...]:
        """The pods that are lost."""
        return tuple(each for each in self.pods if not each.decision.admitted)


def restart(
    config: KubeletConfig,
    machine: MachineInfo,
    files: Mapping[str, str],
    pods: Iterable[Pod],
    devices: Devices = NO_DEVICES,
    *,
    running: Iterable[ContainerKey] | None = None,
    behaviour: Behaviour = EXACT,
    identity: NodeIdentity = UNKNOWN_NODE,
) -> KubeletRestart | StartRefused:
    """A restart of the kubelet on these files while the pods run, or why it does not start.

    ``running`` are the containers that run; by default what the status of the pods says.
    ``devices`` are what the plugins report when they register. They register before the kubelet
    sees the pods, or after: a pod that one of both rejects is rejected.
    """
    pods = tuple(pods)
    runs = frozenset(containers_that_run(pods) if running is None else running)

    def started(reported: Devices) -> Node | StartRefused:
        return nodes.start(
            config,
            machine,
            files,
            reported,
            running=runs,
            behaviour=behaviour,
            identity=identity,
        )

    early = started(devices)
    if isinstance(early, StartRefused):
        return early
    began = early.awaiting_sources()
    node, decisions = readmit(began, pods)
    late = decisions
    if devices:
        without = started(NO_DEVICES)
        assert isinstance(without, Node), "devices do not keep a kubelet from starting"
        _, late = readmit(without.awaiting_sources(), pods)
    return KubeletRestart(
        began,
        node,
        tuple(
            _readmission(began, runs, *both, devices) for both in zip(decisions, late, strict=True)
        ),
    )


def readmit(began: Node, pods: Iterable[Pod]) -> tuple[Node, tuple[Decision, ...]]:
    """The node after it saw these pods again, in this order; nothing is started."""
    decisions = []
    for pod in pods:
        began, decision = began.admit(pod)
        decisions.append(decision)
    return began, tuple(decisions)


def containers_that_run(pods: Iterable[Pod]) -> frozenset[ContainerKey]:
    """The containers that run, as far as the status of the pods says.

    Where it says nothing, init containers have ended and all others run.
    """
    return frozenset(
        ContainerKey(pod.uid, each.name)
        for pod in pods
        for each in pod.containers()
        if _states(pod).get(each.name, pod.phase != PENDING and each.kind is not ContainerKind.INIT)
    )


def _states(pod: Pod) -> Mapping[str, bool]:
    return {} if pod.allocated is None else pod.allocated.running


def _readmission(
    began: Node,
    running: frozenset[ContainerKey],
    early: Decision,
    late: Decision,
    devices: Devices,
) -> Readmission:
    if early.admitted and not late.admitted:
        return Readmission(late, waits_for_plugin=True)
    if not early.admitted:
        return Readmission(early, _asks_a_plugin(early, devices))
    held, holds = placement.of_pod(began.snapshot, early.pod), early.placements
    moves = (
        Move(name, held[name], holds[name])
        for name in holds
        if (early.pod.uid, name) in running and held[name] != holds[name]
    )
    return Readmission(early, moves=tuple(moves))


def _asks_a_plugin(decision: Decision, devices: Devices) -> bool:
    """Whether the pod is rejected because a plugin that is not known has not registered."""
    rejection = decision.rejection
    if not isinstance(rejection, AllocationRefused):
        return False
    cause = rejection.cause
    return isinstance(cause, NoneHealthy | NotRegistered) and cause.resource not in devices
