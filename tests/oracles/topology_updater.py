"""What the Node Feature Discovery's topology updater makes of a PodResources answer, plainly.

Unit by unit, without sums: every CPU and every device is an entry of its own. What it leaves to
chance, the order of zones and resources, is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo
from numalet.shared.kubernetes.pod_resources import Allocatable, PodEntry


@dataclass
class UpdaterAmount:
    """A resource of a zone."""

    capacity: int
    allocatable: int
    available: int


@dataclass
class UpdaterZone:
    """A zone of type Node. ``costs`` are distances by the other zone's name."""

    costs: dict[str, int] = field(default_factory=dict)
    resources: dict[str, UpdaterAmount] = field(default_factory=dict)


def zones(
    machine: MachineInfo, allocatable: Allocatable, pods: Iterable[PodEntry]
) -> dict[str, UpdaterZone]:
    """The zones by name."""
    made = {node.node_id: _empty(machine, node, allocatable) for node in machine.nodes}
    for pod in pods:
        for container in pod.containers:
            for cpu in container.cpus:
                for node in machine.nodes:
                    if cpu in _cpus(node):
                        _take_one(made[node.node_id], "cpu")
            for device in container.devices:
                if device.node_id in made:
                    _take_one(made[device.node_id], device.resource)
            for block in container.memory:
                left = block.size_bytes
                for node_id in sorted(set(block.nodes) & made.keys()):
                    amount = made[node_id].resources.get(block.resource)
                    if amount is not None:
                        taken = min(left, amount.available)
                        amount.available -= taken
                        left -= taken
    return {f"node-{node_id}": zone for node_id, zone in made.items()}


def _empty(machine: MachineInfo, node: NumaNodeInfo, allocatable: Allocatable) -> UpdaterZone:
    """A zone of which nothing is held."""
    zone = UpdaterZone()
    if node.distances is not None:
        for other, distance in zip(machine.nodes, node.distances, strict=True):
            zone.costs[f"node-{other.node_id}"] = distance
    for device in allocatable.devices:
        if device.node_id == node.node_id:
            amount = zone.resources.setdefault(device.resource, UpdaterAmount(0, 0, 0))
            amount.capacity += 1
            amount.allocatable += 1
            amount.available += 1
    for block in allocatable.memory:
        if node.node_id in block.nodes:
            capacity = _memory_bytes(node, block.resource)
            size = block.size_bytes
            zone.resources[block.resource] = UpdaterAmount(capacity, size, size)
    cpus = _cpus(node)
    given = [cpu for cpu in allocatable.cpus if cpu in cpus]
    if given:
        zone.resources["cpu"] = UpdaterAmount(len(cpus), len(given), len(given))
    elif not zone.resources:
        # A zone without anything else says at least that its CPUs are reserved.
        zone.resources["cpu"] = UpdaterAmount(len(cpus), 0, 0)
    return zone


def _take_one(zone: UpdaterZone, resource: str) -> None:
    amount = zone.resources.get(resource)
    if amount is not None and amount.available > 0:
        amount.available -= 1


def _cpus(node: NumaNodeInfo) -> list[int]:
    return [cpu for core in node.cores for cpu in core.threads]


def _memory_bytes(node: NumaNodeInfo, memory_type: str) -> int:
    if memory_type == "memory":
        return node.memory_bytes
    sizes = {"hugepages-2Mi": 2 << 10, "hugepages-1Gi": 1 << 20}
    return sum(
        each.page_size_kib * 1024 * each.count
        for each in node.hugepages
        if each.page_size_kib == sizes[memory_type]
    )
