"""Machines and pods for the examples that are told in Python."""

from __future__ import annotations

from numalet.core.model.machine_info import CoreInfo, MachineInfo, NumaNodeInfo, OperatingSystem
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity

GIB = 2**30


def two_nodes(
    *sizes_gib: int, operating_system: OperatingSystem = OperatingSystem.LINUX
) -> MachineInfo:
    """A machine with a NUMA node of each size, six CPUs each."""
    nodes = tuple(
        NumaNodeInfo(
            node_id=node_id,
            memory_bytes=size_gib * GIB,
            cores=tuple(
                CoreInfo(socket_id=node_id, core_id=core, threads=(node_id * 6 + core,))
                for core in range(6)
            ),
            distances=tuple(10 if other == node_id else 20 for other in range(len(sizes_gib))),
        )
        for node_id, size_gib in enumerate(sizes_gib)
    )
    return MachineInfo(
        nodes=nodes,
        memory_capacity_bytes=sum(sizes_gib) * GIB,
        cpu_count=6 * len(sizes_gib),
        socket_count=len(sizes_gib),
        physical_core_count=6 * len(sizes_gib),
        os=operating_system,
    )


def guaranteed(name: str, memory: str) -> Pod:
    """A Guaranteed pod of one container with one CPU."""
    resources = {"cpu": Quantity.parse("1"), "memory": Quantity.parse(memory)}
    container = Container(name=name, requests=resources, limits=resources)
    return Pod(uid=name, name=name, app_containers=(container,), qos_class=QosClass.GUARANTEED)
