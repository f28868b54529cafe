"""A kubelet restarts with its state files and admits the running pods again.

The kubelet admits every pod of its sources, running or not, even before all sources are ready.
Until then, records of pods that it has not seen yet keep their resources. Kubelet:
``HandlePodAdditions``, v1.32, which sorts the pods of a source by creation time.
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
from numalet.core.model.node_constraints import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.pod import ContainerKey, ContainerKind, Pod
from numalet.core.model.pod_standing import PENDING
from numalet.core.model.value import Value
from numalet.core.node import node as nodes
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement


class Move(Value):
    """A running container whose allocation changes: by the state files, and afterwards."""

    container: str
    held: Placement
    holds: Placement


class Readmission(Value):
    """The decision on a pod after a restart.

    ``waits_for_plugin``: the kubelet rejects the pod only if it sees the pod before the device
    plugin registers. ``moves`` are the containers whose allocation changes.
    """

    decision: Decision
    waits_for_plugin: bool = False
    moves: tuple[Move, ...] = ()

    @property
    def pod(self) -> Pod:
        return self.decision.pod


class KubeletRestart(Value):
    """A restarted kubelet and its decisions; its sources are not ready yet.

    ``began`` is the node before the first pod, ``node`` the node after the last one.
    """

    began: Node
    node: Node
    pods: tuple[Readmission, ...]

    @property
    def rejected(self) -> tuple[Readmission, ...]:
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
    """Restart the kubelet on these files with running pods, or return why it does not start.

    ``running`` are the running containers; by default those of the pods' status. ``devices`` are
    the plugins' reports. Plugins may register before or after the kubelet sees the pods; a pod is
    rejected if either order rejects it.
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

    # The kubelet does not wait for device plugins, which register again when they notice the
    # start. Decide in both orders.
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
    """Admit these pods again, in this order; start no containers."""
    decisions = []
    for pod in pods:
        began, decision = began.admit(pod)
        decisions.append(decision)
    return began, tuple(decisions)


def containers_that_run(pods: Iterable[Pod]) -> frozenset[ContainerKey]:
    """Return the running containers, by the pods' status.

    Without a status, init containers have ended and all others run.
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
    """Return whether the rejection is only due to a plugin without a known report."""
    rejection = decision.rejection
    if not isinstance(rejection, AllocationRefused):
        return False
    cause = rejection.cause
    return isinstance(cause, NoneHealthy | NotRegistered) and cause.resource not in devices
