"""A node's free resources in the scheduler's sums, which ignore NUMA nodes.

kube-scheduler adds up the requests of a node's pods and compares the sum with the Node object's
allocatable resources. These functions compute the same sums; the kubelet may still reject the pod.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.admission import node_resources
from numalet.core.model import resources
from numalet.core.node.node import Node

PODS = node_resources.PODS


def allocatable(node: Node) -> dict[str, int]:
    """Return the allocatable amounts, including ``pods``: milli-CPUs for CPU, else units."""
    registered = node.snapshot.device.inventory.registered
    return {name: allocatable_of(node, name) for name in (*node.roster.offered, *registered)}


def free(node: Node) -> dict[str, int]:
    """Return the free amounts; negative if devices became unhealthy while in use."""
    return {name: there - _requested(node, name) for name, there in allocatable(node).items()}


def free_of(node: Node, resource: str) -> int:
    return allocatable_of(node, resource) - _requested(node, resource)


def allocatable_of(node: Node, resource: str) -> int:
    """Kubelet: ``GetAllocatable`` of the Device Manager counts only healthy devices, v1.32.

    A Node object with fewer devices than its class is right about their number.
    """
    registered = node.snapshot.device.inventory.registered.get(resource)
    offered = node.roster.offered
    if registered is None:
        return offered.get(resource, 0)
    return min(len(registered.healthy), offered.get(resource, len(registered.healthy)))


def _requested(node: Node, resource: str) -> int:
    requested = node.snapshot.requested
    return requested.pods if resource == PODS else requested.amounts.get(resource, 0)


def has_room(free_amounts: Mapping[str, int], amounts: Mapping[str, int]) -> bool:
    """Return whether a pod with these amounts fits the free amounts.

    Ephemeral storage is ignored, because numalet does not measure a node's capacity of it.
    Scheduler: ``fitsRequest`` of the plugin NodeResourcesFit, v1.32.
    """
    return free_amounts.get(PODS, 0) >= 1 and all(
        free_amounts.get(name, 0) >= amount
        for name, amount in amounts.items()
        if name != resources.EPHEMERAL_STORAGE
    )
