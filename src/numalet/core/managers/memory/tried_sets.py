"""The sets that can hold a demand on few NUMA nodes, by full enumeration as in the kubelet.

The tests are those of ``hints``, in one loop over sums. Kubelet: ``calculateHints``, v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence

from numalet.core.hints import few_nodes
from numalet.core.hints.few_nodes import TriedSets
from numalet.core.managers.memory.demand import Demand
from numalet.core.managers.memory.ledger import UINT64, MemoryLedger
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask


def of_demand(ledger: MemoryLedger, pod_uid: str, demand: Demand) -> TriedSets:
    """Test every set of the ledger's nodes, which must be few."""
    all_nodes, allocatable_of = ledger.capacity.nodes, ledger.capacity.of_sets
    nodes = [(node_id, ledger.nodes[node_id]) for node_id in numa_mask.ids(all_nodes)]
    reusable = ledger.reusable.of_pod(pod_uid)
    wanted = []
    for name, asked in demand.items():
        free = few_nodes.sums(all_nodes, [node.tables[name].free for _, node in nodes])
        wanted.append((name, asked, allocatable_of[name], free))
    bound = [
        (1 << node_id, node.group, node.assignments)
        for node_id, node in nodes
        if node.assignments or node.group.bit_count() > 1
    ]
    size = 0
    offered = []
    for mask in few_nodes.every_set(all_nodes):
        for _, asked, allocatable, _ in wanted:
            if allocatable[mask] & UINT64 < asked:
                break
        else:
            # The preferred size comes from the first set with enough allocatable memory, even if
            # the next tests reject this set.
            size = size or mask.bit_count()
            if bound and not _respects(bound, mask):
                continue
            for name, asked, _, free in wanted:
                if (free[mask] + reusable.get((mask, name), 0)) & UINT64 < asked:
                    break
            else:
                offered.append(mask)
    return TriedSets(size or len(nodes), tuple(offered))


def _respects(bound: Sequence[tuple[NumaMask, NumaMask, int]], mask: NumaMask) -> bool:
    """Return whether a set splits no group, and uses nodes in use only as their group.

    ``bound`` are the nodes in use or in a group: each with its group and its assignments.
    """
    is_single = mask.bit_count() == 1
    for node, group, assignments in bound:
        if not node & mask:
            continue
        if is_single:
            return group.bit_count() <= 1
        if assignments and group != mask:
            return False
    return True
