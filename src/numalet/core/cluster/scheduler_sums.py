"""What a node has left by the scheduler's sums, which know nothing of NUMA nodes.

kube-scheduler adds up what the pods of a node request and compares with what the Node object calls
allocatable. What that costs is seen with the same sums; whether the kubelet then
admits the pod is another question.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.admission import node_resources
from numalet.core.model import resources
from numalet.core.node.node import Node

PODS = node_resources.PODS


def allocatable(node: Node) -> dict[str, int]:
    """What pods may have by resource, ``pods`` too; CPU in thousandths, the rest in units."""
    registered = node.snapshot.device.inventory.registered
    return {name: _offered(node, name) for name in (*node.roster.offered, *registered)}


def free(node: Node) -> dict[str, int]:
    """What is left of that; less than nothing where devices fell ill under their pods."""
    return {name: there - _requested(node, name) for name, there in allocatable(node).items()}


def free_of(node: Node, resource: str) -> int:
    """What is left of one resource."""
    return _offered(node, resource) - _requested(node, resource)


def _offered(node: Node, resource: str) -> int:
    """Kubelet: ``GetAllocatable`` of the Device Manager counts the healthy devices alone, v1.32."""
    registered = node.snapshot.device.inventory.registered.get(resource)
    return node.roster.offered.get(resource, 0) if registered is None else len(registered.healthy)


def _requested(node: Node, resource: str) -> int:
    requested = node.snapshot.requested
    return requested.pods if resource == PODS else requested.amounts.get(resource, 0)


def has_room(free_amounts: Mapping[str, int], amounts: Mapping[str, int]) -> bool:
    """Whether a pod of these amounts passes: of no resource does it ask for more than is free.

    Ephemeral storage is left out, as how much of it a node has is not measured here.
    Scheduler: ``fitsRequest`` of the plugin NodeResourcesFit, v1.32.
    """
    return free_amounts.get(PODS, 0) >= 1 and all(
        free_amounts.get(name, 0) >= amount
        for name, amount in amounts.items()
        if name != resources.EPHEMERAL_STORAGE
    )
