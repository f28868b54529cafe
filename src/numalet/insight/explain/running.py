"""Cases about a node that runs: it has pods already, and what becomes of them counts too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace
from numalet.core.node.node import Devices, Node
from numalet.insight.explain import case as cases
from numalet.insight.explain.case import Case
from numalet.insight.simulate.session import Session


def session(node: Node, config: KubeletConfig, known: Mapping[str, Pod]) -> Session:
    """The node as it is, with the devices that it knows; no plugin of it is asked.

    ``known`` are pods by uid that may have a name though they are not active.
    """
    pods = {**known, **node.snapshot.pods}
    quiet = node.without_plugins()
    return Session(config, node.rules.machine, quiet, _devices(node), pods=pods)


def case(beginning: Session, queue: Iterable[Pod], pod: Pod) -> Case:
    """The case of a pod that asks the node now, or anew if the node has it already."""
    node = beginning.node
    if pod.uid in node.snapshot.pods:
        node = node.remove(pod.uid).release_stale()
    return cases.build(replace(beginning, node=node), queue, pod, files=node.state_files())


def restarted(beginning: Session, config: KubeletConfig) -> Session | StartRefused:
    """The node after a restart with another configuration, its pods admitted again in order.

    A pod that is not admitted again is no longer active then. Containers that only the state files
    know go on running.
    """
    begun = beginning.node
    node = cases.restarted(begun, config, begun.state_files(), beginning.devices)
    if isinstance(node, StartRefused):
        return node
    return replace(beginning, config=config, node=node)


def _devices(node: Node) -> Devices:
    """What the plugins of the node reported, as it counts now."""
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
