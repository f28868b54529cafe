"""Which sets of NUMA nodes could hold a demand, in the kubelet's order of hints.

A set is offered if, in this order,

1. for every requested type the allocatable memory of its nodes suffices (the smallest set that
   gets here is the size of a preferred hint, whatever comes next);
2. one node: it is not part of a group. More nodes: each of them is unused, or the set is
   exactly the group it belongs to;
3. for every requested type the free memory of its nodes suffices, together with what this pod
   may use again on exactly this set.

Every requested type offers the same sets. If there is none, the kubelet's Memory Manager says
nothing at all, which reads as "no preference"; the pod then fails when it is allocated.
Kubelet: ``staticPolicy.calculateHints``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from numalet.hints.hint import Candidates, Hint
from numalet.hints.reasons import Reason
from numalet.managers.memory.demand import Demand
from numalet.managers.memory.ledger import UINT64, Blocks, MemoryLedger, NodeMemory
from numalet.managers.memory.reasons import (
    NodeInGroup,
    NodeInUse,
    TooLittleAllocatable,
    TooLittleFree,
    UnknownMemoryType,
)
from numalet.model import numa_mask
from numalet.model.numa_mask import NumaMask


@dataclass(frozen=True)
class OfferedSets:
    """The sets that could hold one demand: a family of hints, shared by its memory types.

    ``masks`` are in the kubelet's order; ``preferred_size`` is the number of nodes of the
    smallest set that could hold the demand on an empty machine.
    """

    ledger: MemoryLedger
    pod_uid: str
    demand: Demand
    masks: tuple[NumaMask, ...]
    preferred_size: int

    @cached_property
    def _hints(self) -> tuple[Hint, ...]:
        size = self.preferred_size
        return tuple(Hint(mask, mask.bit_count() == size) for mask in self.masks)

    def hints(self) -> Sequence[Hint]:
        """Every hint, smaller sets first."""
        return self._hints

    def why_not(self, mask: NumaMask) -> Reason | None:
        """Why this set is not offered; None if it is."""
        return why_not(self.ledger, self.pod_uid, self.demand, mask)


def missing_type(nodes: Mapping[int, NodeMemory], demand: Demand) -> UnknownMemoryType | None:
    """A requested type that some node has no table for, if there is one."""
    for node_id, node in nodes.items():
        for resource in demand:
            if resource not in node.tables:
                return UnknownMemoryType(resource, node_id)
    return None


def offered_sets(
    ledger: MemoryLedger, pod_uid: str, demand: Demand, order: Sequence[NumaMask]
) -> OfferedSets:
    """The sets that could hold the demand, from the sets in ``order``, smaller ones first."""
    nodes = ledger.nodes
    wanted = [
        (
            size,
            _sums(order, {i: node.tables[name].allocatable for i, node in nodes.items()}),
            _sums(order, {i: node.tables[name].free for i, node in nodes.items()}),
            name,
        )
        for name, size in demand.items()
    ]
    reusable = ledger.reusable.sizes if ledger.reusable.pod_uid == pod_uid else {}
    used, whole_groups, in_group = _groups(nodes)
    preferred_size = len(nodes)
    masks = []
    for mask in order:
        if any(allocatable[mask] < size for size, allocatable, _, _ in wanted):
            continue
        nodes_in_set = mask.bit_count()
        preferred_size = min(preferred_size, nodes_in_set)
        if nodes_in_set == 1:
            if mask & in_group:
                continue
        elif mask & used and mask not in whole_groups:
            continue
        if any(
            (free[mask] + reusable.get((mask, name), 0)) & UINT64 < size
            for size, _, free, name in wanted
        ):
            continue
        masks.append(mask)
    return OfferedSets(ledger, pod_uid, demand, tuple(masks) if demand else (), preferred_size)


def _sums(order: Sequence[NumaMask], by_node: Mapping[int, int]) -> dict[NumaMask, int]:
    """Sum over the nodes of each set; each set is its lowest node and a set seen before."""
    by_bit = {1 << node_id: size for node_id, size in by_node.items()}
    sums = {0: 0}
    for mask in order:
        rest = mask & (mask - 1)
        sums[mask] = (sums[rest] + by_bit[mask ^ rest]) & UINT64
    return sums


def _groups(nodes: Mapping[int, NodeMemory]) -> tuple[NumaMask, set[NumaMask], NumaMask]:
    """Nodes with assignments; groups that may be used as they are; nodes of any group.

    A group may be used if all its nodes with assignments belong to it and to no other group.
    """
    used = numa_mask.of(node_id for node_id, node in nodes.items() if node.assignments)
    in_group = numa_mask.of(i for i, node in nodes.items() if node.group.bit_count() > 1)
    whole = {
        node.group
        for node in nodes.values()
        if node.assignments
        and all(nodes[i].group == node.group for i in numa_mask.ids(node.group & used))
    }
    return used, whole, in_group


def why_not(ledger: MemoryLedger, pod_uid: str, demand: Demand, mask: NumaMask) -> Reason | None:
    """Why a set can not hold a demand, tested as ``offered_sets`` tests it; None if it can."""
    nodes = [ledger.nodes[node_id] for node_id in numa_mask.ids(mask)]
    for name, asked in demand.items():
        allocatable = sum(node.tables[name].allocatable for node in nodes) & UINT64
        if allocatable < asked:
            return TooLittleAllocatable(mask, name, asked, allocatable)
    for node_id, node in zip(numa_mask.ids(mask), nodes, strict=True):
        if len(nodes) == 1 and node.group.bit_count() > 1:
            return NodeInGroup(node_id, node.group)
        if len(nodes) > 1 and node.assignments and node.group != mask:
            return NodeInUse(mask, node_id, node.group)
    for name, asked in demand.items():
        free = sum(node.tables[name].free for node in nodes)
        free = (free + ledger.reusable.size_bytes(pod_uid, mask, name)) & UINT64
        if free < asked:
            return TooLittleFree(mask, name, asked, free)
    return None


def regenerated(blocks: Blocks, demand: Demand) -> dict[str, Candidates]:
    """Hints of a container that has blocks already: exactly where they are, preferred.

    Empty, which reads as "no preference", if the blocks are not what is asked for.
    Kubelet: ``regenerateHints``, v1.32.
    """
    if len(blocks) != len(demand):
        return {}
    if any(demand.get(block.resource) != block.size_bytes for block in blocks):
        return {}
    return {
        block.resource: Candidates((Hint(numa_mask.of(block.nodes), True),)) for block in blocks
    }
