"""A case: one pod before its decision, and how the node came to where it is then.

*Beginning*: the node as it was started, state files read. *Queue*: pods that asked for admission
after that, in order. The node after every one of them is kept, so that a change of the queue is
decided from where it makes a difference.
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
    """Another machine on which the pod might run: what the user calls it, and how it is.

    ``machine`` may be a function that gives it: a fleet is large, and often not asked at all.
    """

    name: str
    machine: MachineInfo | Callable[[], MachineInfo]

    def opened(self) -> MachineInfo:
        """The machine; whatever the function that gives it raises."""
        return self.machine if isinstance(self.machine, MachineInfo) else self.machine()


class Case(Value):
    """A pod and what was before it. Made by ``build``.

    ``nodes_before`` are the node before each pod of the queue, and as the last one the node before
    the pod itself. ``admitted`` are uids of the pods of the queue that were admitted, ``refused``
    why the others were not. ``names`` are those of pods of the state files, by uid.
    ``contradiction`` says why what was recorded of the pod cannot come from this configuration.
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
        """The node before the decision."""
        return self.nodes_before[-1]

    @property
    def config(self) -> KubeletConfig:
        """The configuration of the node."""
        return self.beginning.config

    def begun_with(self, config: KubeletConfig) -> Node | StartRefused:
        """The node at the beginning, had it been started with this configuration.

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
        # What was forgotten at the beginning stays forgotten.
        return node.release_stale() if node.leftovers() and not begun.node.leftovers() else node

    def name_of(self, pod_uid: str) -> str:
        """The display name of a pod; its uid, if only state files mention it."""
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
    """The case of a pod that comes after this queue."""
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
    """A node after a restart: its pods are admitted again in order, as far as they are."""
    node = begun.restart(config, begun.rules.machine, files, devices)
    if isinstance(node, StartRefused):
        return node
    node = node.assume_running(begun.snapshot.assumed)
    for pod in begun.snapshot.pods.values():
        node, _ = asked(node, pod)
    return node.sources_ready()


def asked(node: Node, pod: Pod) -> tuple[Node, Rejection | None]:
    """The node after a pod of a queue asked, its containers started; why it was not admitted."""
    node, decision = node.admit(pod)
    return (node.pod_started(pod.uid) if decision.admitted else node), decision.rejection
