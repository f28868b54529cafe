"""Which sets of NUMA nodes could give a number of CPUs, in the kubelet's order of hints.

A set is offered if CPUs that the pod may use again, or holds, are on no other node, and they
and the free CPUs on its nodes are enough. Preferred is a set as small as the smallest that has
so many CPUs at all, free or not and reserved or not. With align-by-socket also a set that spans
as few sockets as that smallest size makes necessary.

Unlike the Memory Manager the CPU Manager says "impossible" when no set is offered.
Kubelet: ``staticPolicy.generateCPUTopologyHints``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from numalet.hints.hint import Hint, Impossible
from numalet.hints.reasons import Reason
from numalet.managers.cpu.cpu_mask import CpuMask
from numalet.managers.cpu.reasons import (
    NoCpusOnNodes,
    NoNodesFit,
    ReuseElsewhere,
    TooFewOnNodes,
)
from numalet.managers.cpu.take_aligned import Reach
from numalet.managers.cpu.topology import CpuTopology
from numalet.model import numa_mask
from numalet.model.numa_mask import NumaMask


@dataclass(frozen=True, slots=True)
class NodeSets:
    """Every set of the machine's NUMA nodes, made once: how many CPUs it has, its sockets.

    ``cpu_counts`` is in the kubelet's order of hints, smaller sets first. ``reach`` says whether
    sockets make a set preferred too.
    """

    topology: CpuTopology
    reach: Reach
    cpu_counts: Mapping[NumaMask, int]
    socket_counts: Mapping[NumaMask, int]

    def preferred_size(self, count: int) -> int:
        """Number of nodes of the smallest set that has so many CPUs; all nodes if none has."""
        for mask, cpus in self.cpu_counts.items():
            if cpus >= count:
                return mask.bit_count()
        return len(self.topology.nodes)

    def is_preferred(self, mask: NumaMask, size: int) -> bool:
        """Whether a set is a preferred one, when the smallest that could do has this size."""
        if mask.bit_count() == size:
            return True
        nodes_per_socket = self.topology.nodes_per_socket
        if self.reach is Reach.NODES or nodes_per_socket == 0:
            return False
        return self.socket_counts[mask] == (size + nodes_per_socket - 1) // nodes_per_socket


def node_sets(topology: CpuTopology, reach: Reach) -> NodeSets:
    """The sets of this machine's nodes that have CPUs."""
    order = tuple(numa_mask.by_size(topology.node_ids))
    cpus = {1 << node.part_id: node.cpus.bit_count() for node in topology.nodes}
    sockets = {
        1 << node_id: numa_mask.of(socket.part_id for socket in inside)
        for node_id, inside in topology.sockets_of_node.items()
    }
    spanned = {0: 0}
    for mask in order:
        lowest = mask & -mask
        spanned[mask] = spanned[mask ^ lowest] | sockets[lowest]
    counts = {mask: sockets_in.bit_count() for mask, sockets_in in spanned.items()}
    return NodeSets(topology, reach, _sums(order, cpus), counts)


def _sums(order: Sequence[NumaMask], by_bit: Mapping[NumaMask, int]) -> dict[NumaMask, int]:
    """Sum over the nodes of each set; each set is its lowest node and a set seen before."""
    sums = {0: 0}
    for mask in order:
        lowest = mask & -mask
        sums[mask] = sums[mask ^ lowest] + by_bit[lowest]
    del sums[0]
    return sums


@dataclass(frozen=True)
class OfferedSets:
    """The sets that could give ``count`` CPUs: a family of hints.

    ``free`` is what is free of each set, ``reuse_count`` what comes to it from the CPUs of the
    pod, which are on the nodes ``reuse_nodes``.
    """

    sets: NodeSets
    count: int
    free: Mapping[NumaMask, int]
    reuse_count: int
    reuse_nodes: NumaMask

    @cached_property
    def masks(self) -> tuple[NumaMask, ...]:
        """The sets offered, smaller ones first."""
        needed, nodes = self.count - self.reuse_count, self.reuse_nodes
        return tuple(
            mask
            for mask, available in self.free.items()
            if available >= needed and mask & nodes == nodes
        )

    @cached_property
    def _hints(self) -> tuple[Hint, ...]:
        size = self.sets.preferred_size(self.count)
        return tuple(Hint(mask, self.sets.is_preferred(mask, size)) for mask in self.masks)

    def hints(self) -> Sequence[Hint]:
        """Every hint, smaller sets first."""
        return self._hints

    def why_not(self, mask: NumaMask) -> Reason | None:
        """Why this set is not offered; None if it is."""
        if mask not in self.free:
            return NoCpusOnNodes(mask, mask & ~numa_mask.of(self.sets.topology.node_ids))
        if not numa_mask.contains(mask, self.reuse_nodes):
            return ReuseElsewhere(mask, self.reuse_nodes)
        available = self.free[mask]
        if available + self.reuse_count < self.count:
            return TooFewOnNodes(mask, self.count, available + self.reuse_count)
        return None


def offered(
    sets: NodeSets, available: CpuMask, reusable: CpuMask, count: int
) -> OfferedSets | Impossible:
    """The hints for so many CPUs, or that no set of nodes can give them."""
    nodes = sets.topology.nodes
    free = {1 << node.part_id: (node.cpus & available).bit_count() for node in nodes}
    reuse_nodes = numa_mask.of(node.part_id for node in nodes if node.cpus & reusable)
    family = OfferedSets(
        sets, count, _sums(tuple(sets.cpu_counts), free), reusable.bit_count(), reuse_nodes
    )
    if family.masks:
        return family
    return Impossible(NoNodesFit(count, available.bit_count() + reusable.bit_count()))
