"""Invariants of a snapshot, unless the kubelet's own bugs break them.

The kubelet breaks two of them: groups, when it uses a single node of a group alone, and sums, when
it admits a uid again while its init containers' memory is reusable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum

from numalet.core.managers.memory.ledger import UINT64, MemoryLedger
from numalet.core.model import numa_mask
from numalet.core.model.value import Value
from numalet.core.snapshot.snapshot import Snapshot


class Invariant(Enum):
    TABLES_ADD_UP = "free + reserved = allocatable, for every node and memory type"
    ASSIGNMENTS_COUNT_BLOCKS = "a node's assignments = the blocks on it"
    GROUPS_AGREE = "all nodes of a group have the same group, and each is in its own"
    SUMS_AGREE = "for every memory type, the blocks' sizes = what the nodes have reserved"


class Violation(Value):
    """A broken rule; ``place`` is a node id or a memory type."""

    rule: Invariant
    place: str
    actual: object
    expected: object


def violations(snapshot: Snapshot) -> tuple[Violation, ...]:
    ledger = snapshot.memory
    return (*_tables(ledger), *_assignments(ledger), *_groups(ledger), *_sums(ledger))


def _tables(ledger: MemoryLedger) -> Iterator[Violation]:
    for node_id, node in ledger.nodes.items():
        for name, table in node.tables.items():
            total = (table.free + table.reserved) & UINT64
            if total != table.allocatable:
                place = f"{node_id} {name}"
                yield Violation(Invariant.TABLES_ADD_UP, place, total, table.allocatable)


def _assignments(ledger: MemoryLedger) -> Iterator[Violation]:
    counted = Counter(node_id for _, block in ledger.counted_blocks() for node_id in block.nodes)
    for node_id, node in ledger.nodes.items():
        if node.assignments != counted[node_id]:
            yield Violation(
                Invariant.ASSIGNMENTS_COUNT_BLOCKS, str(node_id), node.assignments, counted[node_id]
            )


def _groups(ledger: MemoryLedger) -> Iterator[Violation]:
    for node_id, node in ledger.nodes.items():
        others = numa_mask.ids(node.group)
        groups = {ledger.nodes[i].group for i in others if i in ledger.nodes}
        if groups != {node.group} or node_id not in others:
            group_texts = sorted(map(numa_mask.text, groups))
            yield Violation(
                Invariant.GROUPS_AGREE, str(node_id), group_texts, numa_mask.text(node.group)
            )


def _sums(ledger: MemoryLedger) -> Iterator[Violation]:
    blocks: Counter[str] = Counter()
    reserved: Counter[str] = Counter()
    for _, block in ledger.counted_blocks():
        blocks[block.resource] += block.size_bytes
    for node in ledger.nodes.values():
        for name, table in node.tables.items():
            reserved[name] += table.reserved
    for name in sorted(blocks.keys() | reserved.keys()):
        if blocks[name] != reserved[name]:
            yield Violation(Invariant.SUMS_AGREE, name, blocks[name], reserved[name])
