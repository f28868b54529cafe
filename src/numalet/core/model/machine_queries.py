"""Questions about a machine that need counting: sockets, cores, caches, odd nodes.

Those about CPUs consider online ones only. Sockets and cores are counted by sibling sets and not
by ids, because ids repeat (a core id in every package) and may all be the same (-1).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine import Cpu, Machine, NumaNode
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo

"""What some kernels print for a CPU without a cluster."""


class NodeClass(Enum):
    """What a NUMA node is made of, and with it what its memory is good for.

    ``CPU``: CPUs and memory, the ordinary kind. ``MEMORY``: memory without a CPU, which is that
    of an accelerator, CXL, or persistent memory. ``EMPTY``: no memory, with or without CPUs.
    """

    CPU = "cpu"
    MEMORY = "memory"
    EMPTY = "empty"


def node_class(node: NumaNode | NumaNodeInfo) -> NodeClass:
    """The class of a node, of the machine as it is or as the kubelet sees it.

    A node of unknown memory size counts as one with memory.
    """
    if node.memory_bytes == 0:
        return NodeClass.EMPTY
    has_cpus = bool(node.cores if isinstance(node, NumaNodeInfo) else node.cpus)
    return NodeClass.CPU if has_cpus else NodeClass.MEMORY


def classes_by_node(machine: MachineInfo) -> dict[int, NodeClass]:
    """The class of every node, by node id."""
    return {node.node_id: node_class(node) for node in machine.nodes}


def placed_cpus(machine: Machine) -> tuple[Cpu, ...]:
    """Online CPUs of which the kernel reports where they sit."""
    return tuple(cpu for cpu in machine.cpus if cpu.online and cpu.has_topology)


def online_part(machine: Machine, node: NumaNode) -> CpuSet:
    """The CPUs of a node that are online."""
    return node.cpus & machine.online_cpus


def sockets(machine: Machine) -> tuple[CpuSet, ...]:
    """The online CPUs of each socket; sockets by their first CPU."""
    online = machine.online_cpus
    return _distinct(
        cpu.package_siblings & online
        for cpu in placed_cpus(machine)
        if cpu.package_siblings is not None
    )


def cores(machine: Machine) -> tuple[CpuSet, ...]:
    """The online CPUs of each core; cores by their first CPU."""
    online = machine.online_cpus
    return _distinct(
        cpu.thread_siblings & online
        for cpu in placed_cpus(machine)
        if cpu.thread_siblings is not None
    )


def threads_per_core(machine: Machine) -> tuple[int, ...]:
    """How many threads cores have: several numbers on a hybrid machine."""
    return tuple(sorted({len(core) for core in cores(machine)}))


def package_ids(machine: Machine) -> tuple[int, ...]:
    """The different package ids, ascending."""
    packages = {cpu.package_id for cpu in placed_cpus(machine)}
    return tuple(sorted(package for package in packages if package is not None))


def core_id_count(machine: Machine) -> int:
    """How many different pairs of package id and core id there are."""
    return len({(cpu.package_id, cpu.core_id) for cpu in placed_cpus(machine)})


def cpuless_nodes(machine: Machine) -> tuple[int, ...]:
    """Ids of the nodes whose CPU list is empty, ascending."""
    return tuple(node.node_id for node in machine.nodes_by_id if not node.cpus)


def memoryless_nodes(machine: Machine) -> tuple[int, ...]:
    """Ids of the nodes known to have no memory, ascending."""
    return tuple(node.node_id for node in machine.nodes_by_id if node.memory_bytes == 0)


def page_sizes_kib(machine: Machine) -> tuple[int, ...]:
    """Sizes of huge pages that the nodes have pools for, ascending."""
    return tuple(sorted({pool.page_size_kib for node in machine.nodes for pool in node.hugepages}))


def _distinct(sets: Iterable[CpuSet]) -> tuple[CpuSet, ...]:
    """The sets without repetition, by their sorted members."""
    return tuple(sorted(set(sets), key=sorted))
