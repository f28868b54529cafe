"""What is free, and in which order it is tried.

Base rule of every order: fewest free CPUs first, then the lower id; only what has free CPUs is
listed. What is nested is listed by the larger part first:

    list      NUMA nodes hold sockets (numa first)     sockets hold NUMA nodes (sockets first)
    nodes     all nodes                                for each socket: its nodes
    sockets   for each node: its sockets               all sockets
    cores     for each socket: its cores               for each node: its cores
    caches    for each node: its caches                the same
    CPUs      for each core, or for each socket if spread: its free CPUs, ascending

A part is ordered by what is free of all of it, also outside of the larger one, and is listed
twice if it reaches into two larger ones.
Kubelet: ``cpuAccumulator``, ``numaFirst``, ``socketsFirst``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.topology import CpuTopology, Inside, Parts, TopologyPart
from numalet.core.model.value import Mutable


class FreeCpus(Mutable):
    """What is free while CPUs are being taken. Alive inside one call only.

    Every CPU that is taken lowers ``need``, also one that was taken before.
    """

    topology: CpuTopology
    free: CpuMask
    need: int
    taken: CpuMask = cpu_mask.EMPTY

    def take(self, cpus: CpuMask) -> None:
        """Take these CPUs."""
        self.taken |= cpus
        self.free &= ~cpus
        self.need -= cpus.bit_count()

    @property
    def satisfied(self) -> bool:
        """Whether nothing more is needed."""
        return self.need < 1


def nodes(topology: CpuTopology, free: CpuMask) -> list[TopologyPart]:
    """NUMA nodes with free CPUs, in order."""
    if topology.numa_first:
        return _by_free(topology.nodes, free)
    return _nested(sockets(topology, free), topology.nodes_of_socket, free)


def sockets(topology: CpuTopology, free: CpuMask) -> list[TopologyPart]:
    """Sockets with free CPUs, in order."""
    if topology.numa_first:
        return _nested(nodes(topology, free), topology.sockets_of_node, free)
    return _by_free(topology.sockets, free)


def cores(topology: CpuTopology, free: CpuMask) -> Iterator[TopologyPart]:
    """Cores with free CPUs, in order, as they are asked for."""
    outer, inner = _around_cores(topology, free)
    for larger in outer:
        yield from _by_free(inner[larger.part_id], free)


def whole_cores(topology: CpuTopology, free: CpuMask, size: int) -> Iterator[TopologyPart]:
    """Those of ``cores`` that have this number of free CPUs, one by one as they are asked for.

    As many are free of each, so they are in the order of their ids.
    """
    outer, inner = _around_cores(topology, free)
    for larger in outer:
        for part in inner[larger.part_id]:
            _, cpus, here = part
            if (cpus & free).bit_count() == size and here & free:
                yield part


def _around_cores(topology: CpuTopology, free: CpuMask) -> tuple[list[TopologyPart], Inside]:
    """The larger parts by which cores are listed, in order, and the cores of each."""
    if topology.numa_first:
        return sockets(topology, free), topology.cores_of_socket
    return nodes(topology, free), topology.cores_of_node


def uncores(topology: CpuTopology, free: CpuMask) -> list[TopologyPart]:
    """Uncore caches with free CPUs, in order."""
    return _nested(nodes(topology, free), topology.uncores_of_node, free)


def cpus_of(parts: Iterable[TopologyPart], free: CpuMask) -> Iterator[int]:
    """Free CPUs of each part, ascending, part after part."""
    return chain.from_iterable(cpu_mask.ids(part.cpus & free) for part in parts)


def _by_free(parts: Parts, free: CpuMask) -> list[TopologyPart]:
    if len(parts) == 1:
        # As of a node that is a socket.
        return [part for part in parts if part.here & free]
    counted = [
        ((cpus & free).bit_count(), at) for at, (_, cpus, here) in enumerate(parts) if here & free
    ]
    # Parts are listed by ascending id.
    counted.sort()
    return [parts[at] for _, at in counted]


def _nested(outer: Iterable[TopologyPart], inner: Inside, free: CpuMask) -> list[TopologyPart]:
    return [part for larger in outer for part in _by_free(inner[larger.part_id], free)]
