"""The free CPUs during an assignment, and the order in which parts of the machine are tried.

Every order is: fewest free CPUs first, then the lower id; parts without free CPUs are left out.
Nested parts are grouped by the larger part, in its order:

    list      NUMA nodes hold sockets (numa first)     sockets hold NUMA nodes (sockets first)

    nodes     all nodes                                for each socket: its nodes
    sockets   for each node: its sockets               all sockets
    cores     for each socket: its cores               for each node: its cores
    caches    for each node: its caches                the same
    CPUs      for each core, or for each socket if spread: its free CPUs, ascending

A part is ordered by all its free CPUs, including those outside the larger part. It is listed twice
if it overlaps two larger ones.

Kubelet: ``cpuAccumulator``, ``numaFirst``, ``socketsFirst``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.topology import CpuTopology, Inside, Parts, TopologyPart
from numalet.core.model.value import Mutable

# The number of free CPUs of each core, for all cores of a machine at once. A set of cores is a mask
# of core ids. Shifted down by an offset of a layout, the mask of free CPUs has a bit at the id of
# each core whose CPU at that offset is free. Example: two threads per core, CPUs ``i`` and
# ``i + 4``; CPUs 0 to 2, 4 and 6 are free:
#
#     free CPUs             01010111
#     first threads             0111
#     second threads            0101      cores 0 and 2 have both free, core 1 has one


def by_count(topology: CpuTopology, free: CpuMask) -> list[CpuMask]:
    """Return the cores with exactly 1, 2, ... free CPUs, up to the largest core."""
    counted: list[CpuMask] = []
    for core_ids, offsets in topology.core_layouts:
        # at_least[n]: cores with n or more free CPUs among the offsets so far. Updated from the
        # highest n down, so that one CPU raises a core by one only.
        at_least = [core_ids]
        for offset in offsets:
            more = free >> offset
            at_least.append(at_least[-1] & more)
            for count in range(len(at_least) - 2, 0, -1):
                at_least[count] |= at_least[count - 1] & more
        counted += [cpu_mask.EMPTY] * (len(offsets) - len(counted))
        more = cpu_mask.EMPTY
        for count in range(len(offsets), 0, -1):
            counted[count - 1] |= at_least[count] & ~more
            more = at_least[count]
    return counted


def with_count(topology: CpuTopology, free: CpuMask, count: int) -> CpuMask:
    """Return the cores with exactly ``count`` free CPUs; ``count`` is not 0."""
    if topology.largest_core_size > count > 0:
        return by_count(topology, free)[count - 1]
    # Only cores of the largest size can match, with all CPUs free: an AND over the offsets.
    cores = cpu_mask.EMPTY
    for core_ids, offsets in topology.core_layouts:
        if len(offsets) == count:
            whole = core_ids
            for offset in offsets:
                whole &= free >> offset
            cores |= whole
    return cores


def touched(topology: CpuTopology, cpus: CpuMask) -> CpuMask:
    cores = cpu_mask.EMPTY
    for core_ids, offsets in topology.core_layouts:
        for offset in offsets:
            cores |= core_ids & cpus >> offset
    return cores


class FreeCpus(Mutable):
    """The free CPUs during one call of the assignment.

    Every taken CPU lowers ``need``, even a CPU that was taken before.
    """

    topology: CpuTopology
    free: CpuMask
    need: int
    taken: CpuMask = cpu_mask.EMPTY

    def take(self, cpus: CpuMask) -> None:
        self.taken |= cpus
        self.free &= ~cpus
        self.need -= cpus.bit_count()

    @property
    def satisfied(self) -> bool:
        return self.need < 1


def nodes(topology: CpuTopology, free: CpuMask) -> list[TopologyPart]:
    if topology.numa_first:
        return _by_free(topology.nodes, free)
    return _nested(sockets(topology, free), topology.nodes_of_socket, free)


def sockets(topology: CpuTopology, free: CpuMask) -> list[TopologyPart]:
    if topology.numa_first:
        return _nested(nodes(topology, free), topology.sockets_of_node, free)
    return _by_free(topology.sockets, free)


def cores(topology: CpuTopology, free: CpuMask) -> Iterator[CpuMask]:
    counted = by_count(topology, free)
    around = _cores_around(topology, free)
    return _each(topology, [same & here for here in around for same in counted])


def whole_cores(topology: CpuTopology, free: CpuMask, size: int) -> Iterator[CpuMask]:
    """Yield those of ``cores`` that have this number of free CPUs."""
    whole = with_count(topology, free, size)
    return _each(topology, [whole & here for here in _cores_around(topology, free)])


def uncores(topology: CpuTopology, free: CpuMask) -> list[TopologyPart]:
    return _nested(nodes(topology, free), topology.uncores_of_node, free)


def _cores_around(topology: CpuTopology, free: CpuMask) -> list[CpuMask]:
    """Return the cores with free CPUs by larger part, in the order of these parts."""
    outer = sockets(topology, free) if topology.numa_first else nodes(topology, free)
    return [touched(topology, larger.cpus & free) for larger in outer]


def _each(topology: CpuTopology, sets: Iterable[CpuMask]) -> Iterator[CpuMask]:
    for core_ids in sets:
        left = core_ids
        while left:
            yield topology.cores[(left & -left).bit_length() - 1]
            left &= left - 1


def _by_free(parts: Parts, free: CpuMask) -> list[TopologyPart]:
    listed = [part for part in parts if part.here & free]
    if len(listed) > 1:
        # The parts are listed by ascending id, and the sort is stable.
        listed.sort(key=lambda part: (part.cpus & free).bit_count())
    return listed


def _nested(outer: Iterable[TopologyPart], inner: Inside, free: CpuMask) -> list[TopologyPart]:
    listed: list[TopologyPart] = []
    for larger in outer:
        parts = inner[larger.part_id]
        # The larger part has free CPUs, so its only inner part has them too: skip the filter.
        listed += parts if len(parts) == 1 else _by_free(parts, free)
    return listed
