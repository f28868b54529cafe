"""The machine as the kubelet sees it: cAdvisor's MachineInfo, read once at start.

Every decision is made on this view. It differs from the machine as it is (``core.model.machine``)
where cAdvisor counts in its own way: offline CPUs are gone, a core is (node, package, core id),
nodes come in the order of their directory names, distances are a row without labels.
"""

from __future__ import annotations

from enum import Enum

from numalet.core.model.value import ShownValue, Value


class OperatingSystem(Enum):
    """What the kubelet was built for."""

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
    """One NUMA node: all memory in bytes (huge pages included), pages, cores, distances.

    ``distances`` has one number per node in kernel order, or is None where the kernel gave
    none; the kubelet indexes it by node id. ``caches`` are those that serve the whole node.
    """

    node_id: int
    memory_bytes: int
    hugepages: tuple[HugePages, ...] = ()
    cores: tuple[CoreInfo, ...] = ()
    distances: tuple[int, ...] | None = None
    caches: tuple[NodeCache, ...] = ()


class MachineInfo(ShownValue):
    """The whole machine in the kubelet's eyes. Sizes in bytes, page sizes in KiB.

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
        """Ids of the CPUs that some node lists, ascending, each once."""
        return tuple(
            sorted({cpu for node in self.nodes for core in node.cores for cpu in core.threads})
        )
