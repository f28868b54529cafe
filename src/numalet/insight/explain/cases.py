"""A case: one pod before its decision, and the history of its node.

*Beginning*: the node after it read its state files, or a running node. *Queue*: the pods that were
decided on after that, in order. A change may affect the pods of a running node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from numalet.core.admission.reasons import Rejection
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node import node as nodes
from numalet.core.node.node import Devices, Node
from numalet.insight.simulate.session import NO_FILES, Session, StateFiles


class OtherNode(Value):
    """Another machine for the pod; ``machine`` may be a function that reads it.

    A fleet is large, and most of its machines are never tried.
    """

    name: str
    machine: MachineInfo | Callable[[], MachineInfo]

    def opened(self) -> MachineInfo:
        """Read the machine; raises the errors of its reader."""
        return self.machine if isinstance(self.machine, MachineInfo) else self.machine()


class Case(Value):
    """A pod and its history; ``build`` creates it.

    ``nodes_before`` are the node before each pod of the queue and, last, before the pod itself: a
    change of the queue repeats only the decisions after it. ``refused`` are the rejections of the
    queue by uid. ``names`` are those of pods of the state files by uid. ``contradiction`` says why
    this configuration cannot lead to the recorded rejection.
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

        Its first pods are admitted again, in order.
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
        # Starting reads the state files again, and with them pods that were released at the
        # beginning.
        return node.release_stale() if node.leftovers() and not begun.node.leftovers() else node

    def name_of(self, pod_uid: str) -> str:
        """Return the name, or the uid if only state files contain the pod."""
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
            # A critical pod may have evicted earlier ones.
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
    """Restart a node; its pods are admitted again in order, as far as possible."""
    node = begun.restart(config, begun.rules.machine, files, devices)
    if isinstance(node, StartRefused):
        return node
    node = node.assume_running(begun.snapshot.assumed)
    for pod in begun.snapshot.pods.values():
        node, _ = asked(node, pod)
    return node.sources_ready()


def asked(node: Node, pod: Pod) -> tuple[Node, Rejection | None]:
    """Admit a pod of a queue and start its containers; the second value is its rejection."""
    node, decision = node.admit(pod)
    return (node.pod_started(pod.uid) if decision.admitted else node), decision.rejection


def running_session(node: Node, config: KubeletConfig, known: Mapping[str, Pod]) -> Session:
    """Return a session of the current node, which does not call its plugins.

    ``known`` are pods by uid that are named in answers though they are not active.
    """
    pods = {**known, **node.snapshot.pods}
    quiet = node.without_plugins()
    return Session(config, node.rules.machine, quiet, _devices(node), pods=pods)


def running_case(beginning: Session, queue: Iterable[Pod], pod: Pod) -> Case:
    """Return the case of a pod that is decided on now, without its own allocation if it has one."""
    node = beginning.node
    if pod.uid in node.snapshot.pods:
        node = node.remove(pod.uid).release_stale()
    return build(replace(beginning, node=node), queue, pod, files=node.state_files())


def restart_running(beginning: Session, config: KubeletConfig) -> Session | StartRefused:
    """Restart the node with another configuration and admit its pods again, in order.

    A pod that is rejected is inactive afterwards. Containers that only the state files contain
    continue to run.
    """
    begun = beginning.node
    node = restarted(begun, config, begun.state_files(), beginning.devices)
    if isinstance(node, StartRefused):
        return node
    return replace(beginning, config=config, node=node)


def _devices(node: Node) -> Devices:
    inventory = node.snapshot.device.inventory
    return {
        resource: tuple(
            Device(
                each.device_id,
                each.numa_nodes,
                Health.HEALTHY if each.device_id in registration.healthy else Health.UNHEALTHY,
            )
            for each in inventory.devices_of(resource).by_id.values()
        )
        for resource, registration in inventory.registered.items()
    }
