"""The sets that could hold a demand on few NUMA nodes: every set is tried, as the kubelet does it.

The tests are those of ``hints``, in one loop over sums. Kubelet: ``calculateHints``, v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numalet.core.hints import few_nodes
from numalet.core.managers.memory.demand import Demand
from numalet.core.managers.memory.ledger import UINT64, MemoryLedger
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask


class TriedSets(NamedTuple):
    """The size of the preferred sets, and the sets that are offered, smaller ones first."""

    preferred_size: int
    offered: tuple[NumaMask, ...]


def of_demand(ledger: MemoryLedger, pod_uid: str, demand: Demand) -> TriedSets:
    """Try every set of the ledger's nodes, which are few."""
    reusable, all_nodes = ledger.reusable, numa_mask.of(ledger.nodes)
    nodes = [(node_id, ledger.nodes[node_id]) for node_id in numa_mask.ids(all_nodes)]
    allocatable, free = [], []
    for name, asked in demand.items():
        tables = [node.tables[name] for _, node in nodes]
        sums = few_nodes.sums(all_nodes, [table.allocatable for table in tables])
        allocatable.append((sums, asked))
        sums = few_nodes.sums(all_nodes, [table.free for table in tables])
        free.append((sums, asked, name))
    groups = [(1 << node_id, node.group, node.assignments) for node_id, node in nodes]
    size = 0
    offered = []
    for mask in few_nodes.every_set(all_nodes):
        for sums, asked in allocatable:
            if sums[mask] & UINT64 < asked:
                break
        else:
            size = size or mask.bit_count()
            if not _respects(groups, mask):
                continue
            for sums, asked, name in free:
                again = reusable.size_bytes(pod_uid, mask, name)
                if (sums[mask] + again) & UINT64 < asked:
                    break
            else:
                offered.append(mask)
    return TriedSets(size or len(nodes), tuple(offered))


def _respects(groups: Sequence[tuple[NumaMask, NumaMask, int]], mask: NumaMask) -> bool:
    """Whether a set takes no node out of a group, and nodes in use only as the group they are.

    ``groups`` are each node, its group and its assignments.
    """
    is_single = mask.bit_count() == 1
    for node, group, assignments in groups:
        if not node & mask:
            continue
        if is_single:
            return group.bit_count() <= 1
        if assignments and group != mask:
            return False
    return True
