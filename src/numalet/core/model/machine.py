"""The machine by its kernel's data: NUMA nodes, CPUs, caches and memory.

A *node* is a NUMA node; it may have no CPU or no memory, and any number as id. A *CPU* is a logical
CPU, with the kernel's number; *package* and *socket* are synonyms. None means that the source has
no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from numalet.core.model.cpu_set import EMPTY, CpuSet
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.core.model.value import ShownValue, Value

_NO_FILES: Mapping[str, str] = MappingProxyType({})


class Cache(Value):
    """One cache of one CPU; ``cpus`` share it, including offline ones.

    ``kind`` is the kernel's word: Data, Instruction or Unified. ``masked_cpu_count`` is the number
    of CPUs in the cache's mask; the kubelet counts those and does not read the list.
    """

    level: int | None = None
    kind: str = ""
    cache_id: int | None = None
    size_bytes: int | None = None
    cpus: CpuSet | None = None
    masked_cpu_count: int | None = None


class Cpu(Value):
    """One logical CPU. Ids are the kernel's and may repeat, such as a core id between packages.

    ``book_id`` and ``drawer_id`` are texts, and empty except on s390. ``caches`` are in the order
    of the kernel's directories.
    """

    cpu_id: int
    online: bool = True
    package_id: int | None = None
    die_id: int | None = None
    cluster_id: int | None = None
    core_id: int | None = None
    book_id: str = ""
    drawer_id: str = ""
    thread_siblings: CpuSet | None = None
    package_siblings: CpuSet | None = None
    caches: tuple[Cache, ...] = ()

    @property
    def has_topology(self) -> bool:
        """Whether the kernel reports the CPU's location; for offline CPUs it does not."""
        places = (self.package_id, self.core_id, self.thread_siblings, self.package_siblings)
        return any(place is not None for place in places)


class HugePagePool(Value):
    page_size_kib: int
    count: int | None
    free: int | None = None


class NumaNode(Value):
    """One NUMA node. ``memory_bytes`` is its total memory, including huge pages.

    ``cpus`` is the node's CPU list, including offline CPUs. ``linked_cpus`` are the ``cpuM``
    entries of its directory, the only ones that the kubelet reads; ``broken_links`` are the
    dangling ones among them. ``distances`` has a number per node in the kernel's order.
    """

    node_id: int
    memory_bytes: int | None = None
    cpus: CpuSet = EMPTY
    linked_cpus: CpuSet = EMPTY
    broken_links: CpuSet = EMPTY
    hugepages: tuple[HugePagePool, ...] = ()
    distances: tuple[int, ...] | None = None


class ProcFacts(Value, kw_only=True):
    """The kubelet's input from ``/proc``; None for a missing file.

    ``meminfo`` has the values of ``/proc/meminfo`` in its own units (KiB, but pages for
    HugePages_Total). The counts are of distinct ids in ``/proc/cpuinfo``; 0 if the architecture
    does not print them.
    """

    meminfo: Mapping[str, int] | None = None
    core_id_count: int | None = None
    package_id_count: int | None = None


class Machine(ShownValue, kw_only=True):
    """The whole machine.

    ``nodes`` are in the kubelet's order: by directory name (node0, node1, node10, node2), or in the
    order of a description. ``has_numa`` is False for a kernel without NUMA; then ``nodes`` is
    empty. ``cpu_files`` and ``node_files`` are the kernel's own lists (online, possible,
    has_memory, ...) as texts, without missing ones. ``given_view`` is set if the source describes
    the kubelet's view instead of the machine: then it is the view.
    """

    nodes: tuple[NumaNode, ...] = ()
    cpus: tuple[Cpu, ...] = ()
    has_numa: bool = True
    hugepages: tuple[HugePagePool, ...] = ()
    proc: ProcFacts = ProcFacts()
    cpu_files: Mapping[str, str] = _NO_FILES
    node_files: Mapping[str, str] = _NO_FILES
    os: OperatingSystem = OperatingSystem.LINUX
    source: str = ""
    given_view: MachineInfo | None = None

    def __repr__(self) -> str:
        source = f" of {self.source}" if self.source else ""
        return f"<Machine{source}: {len(self.nodes)} NUMA nodes, {len(self.cpus)} CPUs>"

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Ids of the nodes, ascending."""
        return tuple(sorted(node.node_id for node in self.nodes))

    @property
    def nodes_by_id(self) -> tuple[NumaNode, ...]:
        """The nodes by ascending id, which is also the order of distances."""
        return tuple(sorted(self.nodes, key=lambda node: node.node_id))

    @property
    def online_cpus(self) -> CpuSet:
        """CPUs that are online, even if no node lists them."""
        return frozenset(cpu.cpu_id for cpu in self.cpus if cpu.online)

    @property
    def offline_cpus(self) -> CpuSet:
        return frozenset(cpu.cpu_id for cpu in self.cpus if not cpu.online)
