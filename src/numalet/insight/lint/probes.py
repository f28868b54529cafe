"""Pods of one container for hypothetical decisions: of the sizes where allocations change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from numalet.core.config.rules import CpuPolicy, MemoryPolicy
from numalet.core.model import cpu_set, resources
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.core.node import largest_request
from numalet.core.node.node import Node
from numalet.wording import numbers

_EVERY_SIZE: Final = 16
"""Above this number of CPUs, only some sizes and those around a NUMA node are tried."""


class Probe(Value):
    """A pod, and its request of one resource: CPUs, bytes, or devices."""

    pod: Pod
    resource: str
    amount: int

    @property
    def asks(self) -> str:
        if self.resource == resources.MEMORY:
            return f"{numbers.size(self.amount)} of memory"
        return f"{self.amount} of {self.resource}"


def of_cpus(count: int, uid: str = "probe") -> Pod:
    return _of({resources.CPU: Quantity.from_int(count)}, uid)


def _of(asked: dict[str, Quantity], uid: str = "probe") -> Pod:
    asked = {resources.CPU: Quantity.from_milli(100), resources.MEMORY: _LITTLE} | asked
    container = Container("c", requests=asked, limits=asked)
    return Pod(
        uid=uid,
        name=uid,
        app_containers=(container,),
        qos_class=QosClass.GUARANTEED,
        constraints=UNCONSTRAINED,
    )


_LITTLE: Final = Quantity.from_bytes(1 << 20)


def every(node: Node) -> Iterator[Probe]:
    """Yield pods of several sizes for each resource that this empty node gives to one pod alone."""
    if node.rules.cpu.policy is CpuPolicy.STATIC:
        for count in sizes(node):
            yield Probe(of_cpus(count), resources.CPU, count)
    if node.rules.memory.policy is not MemoryPolicy.NONE:
        sums = [each.memory_bytes for each in node.rules.machine.nodes if each.cores]
        for count in _some(len(sums)):
            # Half a NUMA node less than ``count`` of them, so that the reservation has room.
            size = sum(sums[:count]) - sums[count - 1] // 2
            asked = {resources.MEMORY: Quantity.from_bytes(size)}
            yield Probe(_of(asked), resources.MEMORY, size)
    for resource, devices in sorted(node.snapshot.device.inventory.known.items()):
        for count in _some(len(devices.by_id)):
            asked = {resource: Quantity.from_int(count)}
            yield Probe(_of(asked), resource, count)


def in_words(every: Iterable[Probe]) -> str:
    """Describe all requests, for example ``1-62 of cpu, or up to 96GiB of memory``."""
    amounts: dict[str, list[int]] = {}
    for each in every:
        amounts.setdefault(each.resource, []).append(each.amount)
    return ", or ".join(
        f"up to {numbers.size(max(each))} of memory"
        if resource == resources.MEMORY
        else f"{cpu_set.text(each)} of {resource}"
        for resource, each in amounts.items()
    )


def sizes(node: Node) -> list[int]:
    """Return numbers of CPUs: every one on a small machine, else those where layouts change."""
    machine = node.rules.machine
    most = len(machine.cpu_ids) - node.rules.cpu.reserved_count
    if most <= _EVERY_SIZE:
        return list(range(1, most + 1))
    of_node = max(sum(len(core.threads) for core in each.cores) for each in machine.nodes)
    over = of_node + largest_request.unit_of(node.rules, resources.CPU)
    near = (of_node // 2, of_node - 1, of_node, over, 2 * of_node, most // 2)
    return sorted(each for each in {1, 2, 3, 4, 8, 16, *near, most} if 0 < each <= most)


def _some(most: int) -> list[int]:
    return sorted({1, 2, most // 2, most} & {*range(1, most + 1)})
