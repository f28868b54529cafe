"""Which NUMA nodes are in more than one group, by their own tables and by blocks."""

from __future__ import annotations

from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger, NodeMemory
from numalet.core.model import numa_mask
from numalet.insight.state.block_rules import overlapping_groups


def test_a_block_of_other_nodes_than_its_group_overlaps_it_and_absent_nodes_do_not_count() -> None:
    nodes = {each: NodeMemory(1, {}, numa_mask.of((each,))) for each in (0, 1)}
    blocks = {
        "pod": {"main": (MemoryBlock((0, 7), "memory", 1), MemoryBlock((1,), "memory", 1))},
    }
    overlapping = overlapping_groups(MemoryLedger(nodes, blocks))
    assert {*overlapping} == {0}
    assert sorted(overlapping[0]) == [numa_mask.of((0,)), numa_mask.of((0, 7))]
