"""A case: one pod before its decision, and the history of its node.

*Beginning*: the started node, after it read its state files. *Queue*: pods that asked for admission
after that, in order. The node before each of them is kept, so that a change of the queue is decided
from the first pod that it affects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from numalet.core.admission.reasons import Rejection
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.core.node import node as nodes
from numalet.core.node.node import Devices, Node
from numalet.insight.simulate.scenario import NO_FILES, StateFiles
from numalet.insight.simulate.session import Session


class OtherNode(Value):
    """Another machine on which the pod might run, and its name.

    ``machine`` may be a function that reads it: a fleet is large, and often never tried.
    """

    name: str
    machine: MachineInfo | Callable[[], MachineInfo]

    def opened(self) -> MachineInfo:
        """Read the machine; raises the errors of its reader."""
        return self.machine if isinstance(self.machine, MachineInfo) else self.machine()


class Case(Value):
    """A pod and its history; ``build`` creates it.

    ``nodes_before`` are the node before each pod of the queue and, last, before the pod itself.
    ``admitted`` are uids of admitted pods of the queue, ``refused`` the rejections of the others.
    ``names`` are those of pods of the state files, by uid. ``contradiction`` says why the recorded
    rejection of the pod is impossible with this configuration.
    """

    beginning: Session
    files: StateFiles
    queue: tuple[Pod, ...]
    pod: Pod
    nodes_before: tuple[Node, ...]
    admitted: frozenset[str]
    fleet: tuple[OtherNode, ...] = ()
    refused: Mapping[str, Rejection] = MappingProxyType({})
    names: Mapping[str, str] = MappingProxyType({})
    contradiction: str = ""

    @property
    def node(self) -> Node:
        return self.nodes_before[-1]

    @property
    def config(self) -> KubeletConfig:
        return self.beginning.config

    def begun_with(self, config: KubeletConfig) -> Node | StartRefused:
        """Return the node as if it had started with this configuration.

        Pods that it had already are admitted again, in order.
        """
        begun = self.beginning
        if begun.node.snapshot.pods:
            return restarted(begun.node, config, self.files, begun.devices)
        node = nodes.start(
            config,
            begun.machine,
            self.files,
            begun.devices,
            behaviour=begun.node.rules.behaviour,
            identity=begun.node.rules.identity,
            managers=begun.node.roster.extra,
        )
        if isinstance(node, StartRefused):
            return node
        node = node.assume_running(begun.node.snapshot.assumed)
        # Pods that were forgotten at the beginning stay forgotten.
        return node.release_stale() if node.leftovers() and not begun.node.leftovers() else node

    def name_of(self, pod_uid: str) -> str:
        """Return the name of a pod, or its uid if only state files contain it."""
        for pod in (*self.queue, self.pod, *self.beginning.pods.values()):
            if pod.uid == pod_uid:
                return str(pod)
        return self.names.get(pod_uid, pod_uid)


def build(
    beginning: Session,
    queue: Iterable[Pod],
    pod: Pod,
    *,
    files: StateFiles = NO_FILES,
    fleet: Iterable[OtherNode] = (),
) -> Case:
    queue = tuple(queue)
    nodes_before, admitted = [beginning.node], set()
    refused: dict[str, Rejection] = {}
    for earlier in queue:
        node, rejection = asked(nodes_before[-1], earlier)
        nodes_before.append(node)
        if rejection is None:
            admitted.add(earlier.uid)
            admitted.intersection_update(node.snapshot.pods)
        else:
            refused[earlier.uid] = rejection
    return Case(
        beginning,
        files,
        queue,
        pod,
        tuple(nodes_before),
        frozenset(admitted),
        tuple(fleet),
        refused,
    )


def restarted(
    begun: Node, config: KubeletConfig, files: StateFiles, devices: Devices
) -> Node | StartRefused:
    """Restart a node: its pods are admitted again in order, as far as possible."""
    node = begun.restart(config, begun.rules.machine, files, devices)
    if isinstance(node, StartRefused):
        return node
    node = node.assume_running(begun.snapshot.assumed)
    for pod in begun.snapshot.pods.values():
        node, _ = asked(node, pod)
    return node.sources_ready()


def asked(node: Node, pod: Pod) -> tuple[Node, Rejection | None]:
    """Admit a pod of a queue and start its containers; the rejection is None if it was admitted."""
    node, decision = node.admit(pod)
    return (node.pod_started(pod.uid) if decision.admitted else node), decision.rejection
