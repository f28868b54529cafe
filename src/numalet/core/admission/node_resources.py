"""Capacity and allocatable resources, as in the Node object's status.

Kubelet: ``nodestatus.MachineInfo``, ``devicemanager.GetCapacity``, v1.32.
"""

from __future__ import annotations

from numalet.core.config import node_allocatable
from numalet.core.config.rules import NodeRules
from numalet.core.model import pod_demand, resources
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.snapshot.snapshot import Snapshot

PODS = "pods"


def capacity(rules: NodeRules, snapshot: Snapshot) -> dict[str, Quantity]:
    registered = snapshot.device.inventory.registered
    return {
        **node_allocatable.capacity(rules.machine),
        **{
            name: Quantity.from_int(len(each.healthy | each.unhealthy))
            for name, each in registered.items()
        },
        PODS: Quantity.from_int(rules.max_pods),
    }


def allocatable(rules: NodeRules, snapshot: Snapshot) -> dict[str, Quantity]:
    """Return the capacity minus reservations; healthy devices only."""
    inventory = snapshot.device.inventory
    free = {
        name: _not_below_zero(amount - rules.reservation.get(name, ZERO))
        for name, amount in capacity(rules, snapshot).items()
    }
    for name in inventory.registered:
        free[name] = Quantity.from_int(len(inventory.healthy(name)))
    for name, amount in free.items():
        # Preallocated pages are part of MemTotal but not available to pods that ask for memory.
        # Kubelet: ``nodestatus.MachineInfo``.
        if resources.is_hugepages(name):
            free[resources.MEMORY] = _not_below_zero(free[resources.MEMORY] - amount)
    return free


def amounts(rules: NodeRules) -> dict[str, int]:
    """Return the machine's allocatable amounts without devices; CPU in milli-CPUs."""
    nothing_yet = allocatable(rules, Snapshot())
    return {name: pod_demand.number(name, amount) for name, amount in nothing_yet.items()}


def _not_below_zero(amount: Quantity) -> Quantity:
    return amount if amount.sign > 0 else ZERO
