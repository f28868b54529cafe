"""Which sets of NUMA nodes could give a number of CPUs, in the kubelet's order of hints.

A set is offered if CPUs that the pod may use again, or holds, are on no other node, and they
and the free CPUs on its nodes are enough. Preferred is a set as small as the smallest that has
so many CPUs at all, free or not and reserved or not. With align-by-socket also a set that spans
as few sockets as that smallest size makes necessary.

Unlike the Memory Manager the CPU Manager answers "impossible" when no set is offered.
Kubelet: ``staticPolicy.generateCPUTopologyHints``, v1.32.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate

from numalet.core.hints import few_nodes, requirement
from numalet.core.hints.hint import Hint, Impossible
from numalet.core.hints.reasons import Reason
from numalet.core.hints.requirement import OpenSets, Parts, Requirement
from numalet.core.hints.rule import HintRule
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.reasons import (
    NoCpusOnNodes,
    NoNodesFit,
    ReuseElsewhere,
    TooFewCpusOnNodes,
)
from numalet.core.managers.cpu.take_aligned import Reach
from numalet.core.managers.cpu.topology import CpuTopology
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class NodeSets(Value, dict=True):
    """The machine's NUMA nodes that have CPUs, and what makes a set of them preferred.

    ``reach`` says whether sockets make a set preferred too. ``all_nodes`` are the nodes that have
    CPUs; ``are_few``: all their sets are tried. ``most_cpus`` are the most that one node has, that
    two have, and so on, CPUs in use and reserved ones too. Made by ``node_sets``.
    """

    topology: CpuTopology
    reach: Reach
    all_nodes: NumaMask
    are_few: bool
    most_cpus: tuple[int, ...]

    @cached_property
    def _sockets(self) -> Parts:
        """The nodes of each socket, each socket counting 1."""
        parts = self.topology.nodes_of_socket.values()
        return tuple((numa_mask.of(node.part_id for node in nodes), 1) for nodes in parts)

    def preferred_size(self, count: int) -> int:
        """Number of nodes of the smallest set that has so many CPUs; all nodes if none has."""
        return min(bisect_left(self.most_cpus, count) + 1, len(self.most_cpus))

    def spanning(self, size: int) -> Requirement | None:
        """As few sockets as so many nodes make necessary; None if sockets do not count."""
        nodes_per_socket = self.topology.nodes_per_socket
        if self.reach is Reach.NODES or nodes_per_socket == 0:
            return None
        sockets = (size + nodes_per_socket - 1) // nodes_per_socket
        return Requirement(sockets, self._sockets, most=sockets)


def node_sets(topology: CpuTopology, reach: Reach) -> NodeSets:
    """The sets of this machine's nodes that have CPUs."""
    nodes = numa_mask.of(topology.node_ids)
    counts = sorted((node.cpus.bit_count() for node in topology.nodes), reverse=True)
    return NodeSets(topology, reach, nodes, few_nodes.are_few(nodes), tuple(accumulate(counts)))


class CpuHintFamily(Value, dict=True):
    """The sets that could give ``count`` CPUs: a family of hints.

    ``free`` is what is free on each node, by ascending id, ``reuse_count`` what comes to it from
    the CPUs of the pod, which are on the nodes ``reuse_nodes``.
    """

    sets: NodeSets
    count: int
    free: Mapping[int, int]
    reuse_count: int
    reuse_nodes: NumaMask

    @property
    def preferred_masks(self) -> list[NumaMask] | None:
        """The preferred sets, if the nodes are so few that all their sets are tried."""
        if not self.sets.are_few:
            return None
        return [mask for mask, is_preferred in self._tried if is_preferred]

    @property
    def rule(self) -> HintRule | None:
        """What is offered, by rule; None where a list is quicker."""
        return None if self.sets.are_few else self.as_rule

    @property
    def is_empty(self) -> bool:
        """Whether no set is offered; the largest one would be, if any is."""
        return sum(self.free.values()) + self.reuse_count < self.count

    @cached_property
    def as_rule(self) -> HintRule:
        """The offered sets, described by a rule instead of a list."""
        enough = requirement.by_node(self.count - self.reuse_count, self.free)
        size = self.sets.preferred_size(self.count)
        nodes = self.sets.all_nodes
        open_sets = OpenSets(nodes, self.reuse_nodes, (enough,))
        return HintRule(nodes, open_sets, size, spanning=self.sets.spanning(size))

    def hints(self) -> Sequence[Hint]:
        """Every hint, smaller sets first. They may be 2^n."""
        if self.sets.are_few:
            return tuple([Hint(mask, is_preferred) for mask, is_preferred in self._tried])
        rule, every_set = self.as_rule, numa_mask.by_size(self.sets.topology.node_ids)
        return tuple(Hint(mask, rule.prefers(mask)) for mask in every_set if rule.offers(mask))

    @cached_property
    def _tried(self) -> list[tuple[NumaMask, bool]]:
        """The sets of few nodes that are offered, and whether they are preferred."""
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
        """Why this set is not offered; None if it is."""
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
    """The hints for so many CPUs, or that no set of nodes can give them."""
    nodes = sets.topology.nodes
    free = {node_id: (cpus & available).bit_count() for node_id, cpus, _ in nodes}
    reuse_nodes = numa_mask.EMPTY
    if reusable:
        reuse_nodes = numa_mask.of(node_id for node_id, cpus, _ in nodes if cpus & reusable)
    family = CpuHintFamily(sets, count, free, reusable.bit_count(), reuse_nodes)
    if family.is_empty:
        return Impossible(NoNodesFit(count, available.bit_count() + reusable.bit_count()))
    return family
