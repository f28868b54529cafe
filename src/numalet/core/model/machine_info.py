"""The machine in the kubelet's view: cAdvisor's MachineInfo, read once at start.

Every decision uses this view. It differs from the kernel's data (``core.model.machine``) in these
points: offline CPUs are absent, a core is (node, package, core id), nodes are in the order of their
directory names, distances are a row without labels.
"""

from __future__ import annotations

from enum import Enum

from numalet.core.model.value import ShownValue, Value


class OperatingSystem(Enum):
    LINUX = "linux"
    WINDOWS = "windows"


class HugePages(Value):
    """Pages of one size: page size in KiB, number of pages (may be 0)."""

    page_size_kib: int
    count: int


class CoreInfo(Value):
    """One core of a NUMA node. ``core_id`` repeats between sockets; threads are CPU ids."""

    socket_id: int
    core_id: int
    threads: tuple[int, ...]
    uncore_cache_id: int | None = None
    book_id: str = ""
    drawer_id: str = ""


class NodeCache(Value):
    """A cache that serves a whole NUMA node. Ids are the kernel's."""

    level: int
    cache_id: int
    size_bytes: int


class NumaNodeInfo(Value):
    """One NUMA node: total memory in bytes (with huge pages), pages, cores, distances.

    ``distances`` has one number per node in kernel order, or None if the kernel has no distances;
    the kubelet indexes it by node id. ``caches`` serve the whole node.
    """

    node_id: int
    memory_bytes: int
    hugepages: tuple[HugePages, ...] = ()
    cores: tuple[CoreInfo, ...] = ()
    distances: tuple[int, ...] | None = None
    caches: tuple[NodeCache, ...] = ()


class MachineInfo(ShownValue):
    """The kubelet's view of the whole machine. Sizes in bytes, page sizes in KiB.

    ``cpu_count`` is the number of online logical CPUs (cAdvisor ``num_cores``).
    """

    nodes: tuple[NumaNodeInfo, ...]
    memory_capacity_bytes: int
    cpu_count: int
    socket_count: int
    hugepages: tuple[HugePages, ...] = ()
    physical_core_count: int = 0
    os: OperatingSystem = OperatingSystem.LINUX
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<MachineInfo: {len(self.nodes)} NUMA nodes, {self.cpu_count} CPUs,"
            f" {self.memory_capacity_bytes} bytes of memory>"
        )

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Node ids, ascending."""
        return tuple(sorted(node.node_id for node in self.nodes))

    @property
    def cpu_ids(self) -> tuple[int, ...]:
        """Ids of the CPUs of all nodes, ascending, each once."""
        return tuple(
            sorted({cpu for node in self.nodes for core in node.cores for cpu in core.threads})
        )

    @property
    def node_of_cpu(self) -> dict[int, int]:
        return {
            cpu: node.node_id for node in self.nodes for core in node.cores for cpu in core.threads
        }
