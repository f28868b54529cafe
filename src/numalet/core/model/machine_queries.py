"""Counts about a machine: sockets, cores, caches, unusual nodes.

Only online CPUs count. Sockets and cores are counted by sibling sets and not by ids, because ids
repeat (a core id in every package) and may all be the same (-1).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine import Cpu, Machine, NumaNode
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo

"""What some kernels print for a CPU without a cluster."""


class NodeClass(Enum):
    """The kind of a NUMA node, which determines the use of its memory.

    ``CPU``: CPUs and memory, the ordinary kind. ``MEMORY``: memory without CPUs: an accelerator's,
    CXL, or persistent memory. ``EMPTY``: no memory, with or without CPUs.
    """

    CPU = "cpu"
    MEMORY = "memory"
    EMPTY = "empty"


def node_class(node: NumaNode | NumaNodeInfo) -> NodeClass:
    """Return the class of a node, from the kernel's data or the kubelet's view.

    A node of unknown memory size has memory.
    """
    if node.memory_bytes == 0:
        return NodeClass.EMPTY
    has_cpus = bool(node.cores if isinstance(node, NumaNodeInfo) else node.cpus)
    return NodeClass.CPU if has_cpus else NodeClass.MEMORY


def classes_by_node(machine: MachineInfo) -> dict[int, NodeClass]:
    return {node.node_id: node_class(node) for node in machine.nodes}


def placed_cpus(machine: Machine) -> tuple[Cpu, ...]:
    """Return the online CPUs with a known location."""
    return tuple(cpu for cpu in machine.cpus if cpu.online and cpu.has_topology)


def online_part(machine: Machine, node: NumaNode) -> CpuSet:
    return node.cpus & machine.online_cpus


def sockets(machine: Machine) -> tuple[CpuSet, ...]:
    """Return the online CPUs of each socket, in order of the first CPU."""
    online = machine.online_cpus
    return _distinct(
        cpu.package_siblings & online
        for cpu in placed_cpus(machine)
        if cpu.package_siblings is not None
    )


def cores(machine: Machine) -> tuple[CpuSet, ...]:
    """Return the online CPUs of each core, in order of the first CPU."""
    online = machine.online_cpus
    return _distinct(
        cpu.thread_siblings & online
        for cpu in placed_cpus(machine)
        if cpu.thread_siblings is not None
    )


def threads_per_core(machine: Machine) -> tuple[int, ...]:
    """Return the distinct numbers of threads per core; several on a hybrid machine."""
    return tuple(sorted({len(core) for core in cores(machine)}))


def package_ids(machine: Machine) -> tuple[int, ...]:
    packages = {cpu.package_id for cpu in placed_cpus(machine)}
    return tuple(sorted(package for package in packages if package is not None))


def core_id_count(machine: Machine) -> int:
    return len({(cpu.package_id, cpu.core_id) for cpu in placed_cpus(machine)})


def cpuless_nodes(machine: Machine) -> tuple[int, ...]:
    return tuple(node.node_id for node in machine.nodes_by_id if not node.cpus)


def memoryless_nodes(machine: Machine) -> tuple[int, ...]:
    """Return the ids of nodes with 0 bytes of memory, ascending."""
    return tuple(node.node_id for node in machine.nodes_by_id if node.memory_bytes == 0)


def page_sizes_kib(machine: Machine) -> tuple[int, ...]:
    return tuple(sorted({pool.page_size_kib for node in machine.nodes for pool in node.hugepages}))


def _distinct(sets: Iterable[CpuSet]) -> tuple[CpuSet, ...]:
    return tuple(sorted(set(sets), key=sorted))
