"""The sets of NUMA nodes that can give a number of CPUs, in the kubelet's order of hints.

A set must include all nodes of the pod's reusable or held CPUs, and these plus the free CPUs on its
nodes must be enough. It is preferred if it has the smallest size that has enough CPUs on an empty
machine, reserved CPUs included; with align-by-socket also if it spans the fewest sockets possible
for that size. Kubelet: ``staticPolicy.generateCPUTopologyHints``, v1.32.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate

from numalet.core.hints import few_nodes, requirement
from numalet.core.hints.provider import Hint, Impossible, Reason
from numalet.core.hints.requirement import OpenSets, Parts, Requirement
from numalet.core.hints.rule import HintRule
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.reasons import (
    NoCpusOnNodes,
    NoNodesFit,
    ReuseElsewhere,
    TooFewCpusOnNodes,
)
from numalet.core.managers.cpu.take_packed import Reach
from numalet.core.managers.cpu.topology import CpuTopology
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class NodeSets(Value, dict=True):
    """The machine's NUMA nodes with CPUs, and the rule for preferred sets. Made by ``node_sets``.

    ``reach``: whether sockets can make a set preferred too. ``are_few``: hints come from a full
    enumeration of the sets. ``most_cpus``: the largest number of CPUs on one node, on two, and so
    on, including used and reserved ones.
    """

    topology: CpuTopology
    reach: Reach
    all_nodes: NumaMask
    are_few: bool
    most_cpus: tuple[int, ...]

    @cached_property
    def _sockets(self) -> Parts:
        parts = self.topology.nodes_of_socket.values()
        return tuple((numa_mask.of(node.part_id for node in nodes), 1) for nodes in parts)

    def preferred_size(self, count: int) -> int:
        """Return the size of the smallest set with this many CPUs; all nodes if too few exist."""
        return min(bisect_left(self.most_cpus, count) + 1, len(self.most_cpus))

    def spanning(self, size: int) -> Requirement | None:
        """Require the fewest sockets that this many nodes need, with align-by-socket."""
        nodes_per_socket = self.topology.nodes_per_socket
        if self.reach is Reach.NODES or nodes_per_socket == 0:
            return None
        sockets = (size + nodes_per_socket - 1) // nodes_per_socket
        return Requirement(sockets, self._sockets, most=sockets)


def node_sets(topology: CpuTopology, reach: Reach) -> NodeSets:
    nodes = numa_mask.of(topology.node_ids)
    # The largest nodes first: their running sum gives the smallest number of nodes that has n CPUs,
    # without a search over the sets.
    counts = sorted((node.cpus.bit_count() for node in topology.nodes), reverse=True)
    return NodeSets(topology, reach, nodes, few_nodes.are_few(nodes), tuple(accumulate(counts)))


class CpuHintFamily(Value, dict=True):
    """The sets that can give ``count`` CPUs: a family of hints.

    ``free`` has the free CPUs of each node, by ascending id. ``reuse_count`` CPUs of the pod add to
    these; they are on the nodes ``reuse_nodes``.
    """

    sets: NodeSets
    count: int
    free: Mapping[int, int]
    reuse_count: int
    reuse_nodes: NumaMask

    @property
    def preferred_masks(self) -> list[NumaMask] | None:
        """The preferred sets on few nodes. On more nodes (None) the rule finds them."""
        if not self.sets.are_few:
            return None
        return [mask for mask, is_preferred in self._tried if is_preferred]

    @property
    def rule(self) -> HintRule | None:
        """The offered sets as a rule, unless a list is faster."""
        return None if self.sets.are_few else self.as_rule

    @cached_property
    def as_rule(self) -> HintRule:
        # The reusable CPUs are subtracted from the need instead of added to each set, because every
        # offered set includes all of their nodes.
        enough = requirement.by_node(self.count - self.reuse_count, self.free)
        size = self.sets.preferred_size(self.count)
        nodes = self.sets.all_nodes
        open_sets = OpenSets(nodes, self.reuse_nodes, (enough,))
        return HintRule(nodes, open_sets, size, spanning=self.sets.spanning(size))

    def hints(self) -> Sequence[Hint]:
        """Return every hint, smaller sets first; up to 2^n."""
        if self.sets.are_few:
            return tuple([Hint(mask, is_preferred) for mask, is_preferred in self._tried])
        rule, every_set = self.as_rule, numa_mask.by_size(self.sets.topology.node_ids)
        return tuple(Hint(mask, rule.prefers(mask)) for mask in every_set if rule.offers(mask))

    @cached_property
    def _tried(self) -> list[tuple[NumaMask, bool]]:
        nodes, reused = self.sets.all_nodes, self.reuse_nodes
        size = self.sets.preferred_size(self.count)
        spanning = self.sets.spanning(size)
        free, need = few_nodes.sums(nodes, [*self.free.values()]), self.count - self.reuse_count
        return [
            (
                mask,
                mask.bit_count() == size or (spanning is not None and spanning.is_met_by(mask)),
            )
            for mask in few_nodes.every_set(nodes)
            if free[mask] >= need and not reused & ~mask
        ]

    def why_not(self, mask: NumaMask) -> Reason | None:
        outside = mask & ~self.sets.all_nodes
        if outside or not mask:
            return NoCpusOnNodes(mask, outside)
        if not numa_mask.contains(mask, self.reuse_nodes):
            return ReuseElsewhere(mask, self.reuse_nodes)
        available = sum(self.free[node_id] for node_id in numa_mask.ids(mask))
        if available + self.reuse_count < self.count:
            return TooFewCpusOnNodes(mask, self.count, available + self.reuse_count)
        return None


def offered(
    sets: NodeSets, available: CpuMask, reusable: CpuMask, count: int
) -> CpuHintFamily | Impossible:
    # Unlike the Memory Manager, the CPU Manager answers "impossible" if it offers no set. All nodes
    # together have every CPU, so some set is offered if these are enough.
    together = available.bit_count() + reusable.bit_count()
    if together < count:
        return Impossible(NoNodesFit(count, together))
    nodes = sets.topology.nodes
    free = {node_id: (cpus & available).bit_count() for node_id, cpus, _ in nodes}
    reuse_nodes = numa_mask.EMPTY
    if reusable:
        reuse_nodes = numa_mask.of(node_id for node_id, cpus, _ in nodes if cpus & reusable)
    return CpuHintFamily(sets, count, free, reusable.bit_count(), reuse_nodes)
