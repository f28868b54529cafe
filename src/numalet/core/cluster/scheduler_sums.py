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
    """What pods may have by resource, ``pods`` among them; CPU in thousandths, the rest in units.

    Kubelet: ``GetAllocatable`` of the Device Manager counts the healthy devices alone, v1.32.
    """
    inventory = node.snapshot.device.inventory
    devices = {name: len(inventory.healthy(name)) for name in inventory.registered}
    return {**node.roster.offered, **devices}


def free(node: Node) -> dict[str, int]:
    """What is left of that; less than nothing where devices fell ill under their pods."""
    requested = node.snapshot.requested
    left = {
        name: there - requested.amounts.get(name, 0) for name, there in allocatable(node).items()
    }
    left[PODS] -= requested.pods
    return left


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
