"""Whether a ledger from a state file fits this machine and this configuration.

The manager rebuilds a ledger from the machine's empty node map and every block, and compares.
Kubelet: ``staticPolicy.validateState``, ``areMachineStatesEqual``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.findings.state_files import (
    MemoryStateDiffers,
    MemoryStateNoMachineState,
    MemoryStateUnknownNode,
    MemoryStateUnknownType,
    MemoryStateWouldCrash,
)
from numalet.core.managers.memory import tables
from numalet.core.managers.memory.ledger import UINT64, MemoryLedger, NodeMemory
from numalet.core.model import numa_mask
from numalet.core.model.findings import Finding
from numalet.core.model.value import replace

NamedTwice = Mapping[int, tuple[int, ...]]
"""Groups of the file that list a node more than once, by the node that has them."""

_NOTHING_TWICE: Final[NamedTwice] = MappingProxyType({})


def restored(
    ledger: MemoryLedger,
    initial: Mapping[int, NodeMemory],
    named_twice: NamedTwice = _NOTHING_TWICE,
) -> MemoryLedger | Finding:
    """Return the ledger to start with, or why the kubelet would not start with it.

    ``initial`` is the empty node map of this machine. ``named_twice`` has the file's groups with
    duplicates: the kubelet compares groups as lists (``areGroupsEqual``).
    """
    if not ledger.nodes:
        if ledger.blocks:
            return MemoryStateNoMachineState(pods=sorted(ledger.blocks))
        return MemoryLedger(initial, {}).knowing_capacity()
    expected = _rebuilt(ledger, initial)
    if isinstance(expected, Finding):
        return expected
    difference = _difference(ledger.nodes, expected, _groups(ledger, named_twice))
    return ledger.knowing_capacity() if difference is None else difference


def _rebuilt(
    ledger: MemoryLedger, initial: Mapping[int, NodeMemory]
) -> dict[int, NodeMemory] | Finding:
    nodes = dict(initial)
    for (uid, container), block in ledger.counted_blocks():
        for node_id in block.nodes:
            node = nodes.get(node_id)
            if node is None:
                return MemoryStateUnknownNode(
                    pod=uid, container=container, node=node_id, type=block.resource
                )
            if block.resource not in node.tables:
                return MemoryStateUnknownType(
                    pod=uid, container=container, node=node_id, type=block.resource
                )
            # One assignment for each block and node, also for the nodes that gave no bytes.
            nodes[node_id] = replace(node, assignments=node.assignments + 1)
        tables.allocate(nodes, block.nodes, block.resource, block.size_bytes)
    return nodes


_Groups = Mapping[int, tuple[list[int], list[int]]]
"""By node: the group in the file and the expected one, sorted, with duplicates."""


def _groups(ledger: MemoryLedger, named_twice: NamedTwice) -> _Groups:
    # The last block on a node sets its group.
    expected = {
        node_id: block.nodes for _, block in ledger.counted_blocks() for node_id in block.nodes
    }
    return {
        node_id: (
            sorted(named_twice.get(node_id) or numa_mask.ids(node.group)),
            sorted(expected.get(node_id, (node_id,))),
        )
        for node_id, node in ledger.nodes.items()
    }


def _difference(
    restored: Mapping[int, NodeMemory],
    expected: Mapping[int, NodeMemory],
    groups: _Groups,
) -> Finding | None:
    """Return the first difference in the kubelet's order, nodes ascending."""
    if restored.keys() != expected.keys():
        return _differs("nodes", None, sorted(restored), sorted(expected))
    crash = None
    for node_id in sorted(restored):
        mine, theirs = restored[node_id], expected[node_id]
        if mine.assignments != theirs.assignments:
            return _differs("assignments", node_id, mine.assignments, theirs.assignments)
        group, wanted = groups[node_id]
        if group != wanted:
            return _differs("group", node_id, _listed(group), _listed(wanted))
        if mine.tables.keys() != theirs.tables.keys():
            return _differs("types", node_id, sorted(mine.tables), sorted(theirs.tables))
        for name in sorted(mine.tables):
            different = _different_table(name, node_id, restored, expected)
            if isinstance(different, MemoryStateWouldCrash):
                # The kubelet checks nodes in random order: a difference elsewhere may end the
                # comparison before the crash, so report a difference first.
                crash = crash or different
            elif different is not None:
                return different
    return crash


def _different_table(
    name: str,
    node_id: int,
    restored: Mapping[int, NodeMemory],
    expected: Mapping[int, NodeMemory],
) -> Finding | None:
    """Return the difference in one table of a node, or why the kubelet would crash."""
    mine, theirs = restored[node_id].tables[name], expected[node_id].tables[name]
    for what in ("total", "system_reserved", "allocatable"):
        value, wanted = getattr(mine, what), getattr(theirs, what)
        if value != wanted:
            return _differs(f"{name} {what.replace('_', ' ')}", node_id, value, wanted)
    # Free and reserved memory are compared as sums over a group, because the figures of its
    # single nodes depend on the order of events. The kubelet crashes here if another node of the
    # group has no pages of that size.
    group = numa_mask.ids(restored[node_id].group)
    for other in group:
        if name not in restored[other].tables or name not in expected[other].tables:
            return MemoryStateWouldCrash(node=node_id, type=name, other=other)
    for what in ("free", "reserved"):
        value = sum(getattr(restored[i].tables[name], what) for i in group) & UINT64
        wanted = sum(getattr(expected[i].tables[name], what) for i in group) & UINT64
        if value != wanted:
            return _differs(f"{name} {what} in the group", node_id, value, wanted)
    return None


def _listed(node_ids: list[int]) -> str:
    return "{" + ",".join(map(str, node_ids)) + "}"


def _differs(what: str, node_id: int | None, restored: object, expected: object) -> Finding:
    return MemoryStateDiffers(what=what, node=node_id, found=restored, expected=expected)
