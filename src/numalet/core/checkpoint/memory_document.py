"""The content of ``memory_manager_state``, with its nulls (None).

The document is separate from the ledger because the checksum distinguishes empty, absent and null;
it becomes a ledger only after its checksum was verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from numalet.core.managers.memory.ledger import (
    MemoryBlock,
    MemoryLedger,
    MemoryTable,
    NodeMemory,
)
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value, replace

Table = MemoryTable

_NOWHERE = 1024
"""Replaces invalid node ids in a group; a file may have any number."""


class MachineStateNode(Value):
    """One entry of ``machineState``; ``group`` is the member ``cells``.

    ``early_group`` is the member ``nodes``, which the early layout has instead.
    """

    assignments: int
    tables: Mapping[str, Table | None] | None
    group: tuple[int, ...] | None
    early_group: tuple[int, ...] | None = None


class Block(Value):
    """One block of a container."""

    nodes: tuple[int, ...] | None
    resource: str
    size_bytes: int


PodEntries = Mapping[str, tuple[Block, ...] | None]
PodBlocks: TypeAlias = tuple[Block, ...] | None
"""The blocks of a pod that was placed as a whole."""


class MemoryDocument(Value):
    """The whole file. ``nodes`` are keyed by node id; ``entries`` by pod uid and container.

    ``early_layout`` is true for a file whose groups are called ``nodes`` and not ``cells``.
    ``pods`` has the blocks of whole pods, by uid. They are part of the format and of the checksum
    only if ``has_pods``. ``data`` is the text that the content was read from, in the newest format;
    then ``checksum`` is that of this text.
    """

    policy_name: str
    nodes: Mapping[int, MachineStateNode | None] | None
    entries: Mapping[str, PodEntries | None] | None
    checksum: int = 0
    early_layout: bool = False
    pods: Mapping[str, PodBlocks] | None = None
    has_pods: bool = False
    data: str | None = None


def to_ledger(document: MemoryDocument) -> MemoryLedger:
    """Return the document's ledger; nulls become empty."""
    nodes = document.nodes or {}
    return MemoryLedger(
        {node_id: _node(node) for node_id, node in sorted(nodes.items())},
        {
            uid: {name: _blocks(blocks) for name, blocks in (containers or {}).items()}
            for uid, containers in (document.entries or {}).items()
        },
        pods={uid: _blocks(blocks) for uid, blocks in (document.pods or {}).items()},
    )


def with_early_groups(document: MemoryDocument) -> MemoryDocument:
    nodes = {
        node_id: node
        if node is None or node.early_group is None
        else replace(node, group=node.early_group)
        for node_id, node in (document.nodes or {}).items()
    }
    return replace(document, nodes=None if document.nodes is None else nodes)


def groups_named_twice(document: MemoryDocument) -> dict[int, tuple[int, ...]]:
    """Return the groups of the file that list a node more than once, by node id."""
    groups = ((i, node.group or ()) for i, node in (document.nodes or {}).items() if node)
    return {i: group for i, group in groups if len(set(group)) < len(group)}


def _node(node: MachineStateNode | None) -> NodeMemory:
    if node is None:
        return NodeMemory(0, {}, numa_mask.EMPTY)
    empty = MemoryTable(0, 0, 0, 0, 0)
    tables = {name: table or empty for name, table in (node.tables or {}).items()}
    return NodeMemory(node.assignments, tables, _group(node.group or ()))


def _group(node_ids: tuple[int, ...]) -> NumaMask:
    """Return the set of nodes; all invalid ids become one."""
    return numa_mask.of(i if 0 <= i < _NOWHERE else _NOWHERE for i in node_ids)


def _blocks(blocks: tuple[Block, ...] | None) -> tuple[MemoryBlock, ...]:
    return tuple(MemoryBlock(b.nodes or (), b.resource, b.size_bytes) for b in blocks or ())
