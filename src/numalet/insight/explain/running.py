"""Cases on a running node, whose pods a change may affect."""

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
    """Return a session of the current node, which does not call its plugins.

    ``known`` are pods by uid that are named in answers though they are not active.
    """
    pods = {**known, **node.snapshot.pods}
    quiet = node.without_plugins()
    return Session(config, node.rules.machine, quiet, _devices(node), pods=pods)


def case(beginning: Session, queue: Iterable[Pod], pod: Pod) -> Case:
    """Return the case of a pod that is decided on now, without its own allocation if it has one."""
    node = beginning.node
    if pod.uid in node.snapshot.pods:
        node = node.remove(pod.uid).release_stale()
    return cases.build(replace(beginning, node=node), queue, pod, files=node.state_files())


def restarted(beginning: Session, config: KubeletConfig) -> Session | StartRefused:
    """Restart the node with another configuration and admit its pods again, in order.

    A pod that is rejected is inactive afterwards. Containers that only the state files contain
    continue to run.
    """
    begun = beginning.node
    node = cases.restarted(begun, config, begun.state_files(), beginning.devices)
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
