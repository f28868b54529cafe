"""Whether a ledger that was read from a file fits this machine and this configuration.

The ledger is compared with one rebuilt from nothing: the empty node map of this machine, and
then every block put on its nodes again. Free and reserved memory are compared as sums over a
group, because inside a group it depends on the order of events which node gave what.
Kubelet: ``staticPolicy.validateState``, ``areMachineStatesEqual``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from numalet.managers.memory import tables
from numalet.managers.memory.ledger import MemoryLedger, MemoryTable, NodeMemory
from numalet.model import numa_mask
from numalet.model.findings import Finding


def restored(ledger: MemoryLedger, initial: Mapping[int, NodeMemory]) -> MemoryLedger | Finding:
    """The ledger to start with, or why the kubelet would not start with it.

    ``initial`` is the node map of this machine when it is empty.
    """
    if not ledger.nodes:
        if ledger.blocks:
            return Finding("memory-state/no-machine-state", {"pods": sorted(ledger.blocks)})
        return MemoryLedger(initial, {})
    expected = _rebuilt(ledger, initial)
    if isinstance(expected, Finding):
        return expected
    difference = _difference(ledger.nodes, expected)
    return ledger if difference is None else difference


def _rebuilt(
    ledger: MemoryLedger, initial: Mapping[int, NodeMemory]
) -> dict[int, NodeMemory] | Finding:
    nodes = dict(initial)
    for uid, containers in ledger.blocks.items():
        for container, blocks in containers.items():
            for block in blocks:
                for node_id in block.nodes:
                    where = {
                        "pod": uid,
                        "container": container,
                        "node": node_id,
                        "type": block.resource,
                    }
                    node = nodes.get(node_id)
                    if node is None:
                        return Finding("memory-state/unknown-node", where)
                    if block.resource not in node.tables:
                        return Finding("memory-state/unknown-type", where)
                    nodes[node_id] = replace(
                        node,
                        assignments=node.assignments + 1,
                        group=numa_mask.of(block.nodes),
                    )
                tables.take(nodes, block.nodes, block.resource, block.size_bytes)
    return nodes


def _difference(
    found: Mapping[int, NodeMemory], expected: Mapping[int, NodeMemory]
) -> Finding | None:
    """The first difference in the order in which the kubelet compares, nodes ascending."""
    if found.keys() != expected.keys():
        return _differs("nodes", None, sorted(found), sorted(expected))
    for node_id in sorted(found):
        mine, theirs = found[node_id], expected[node_id]
        if mine.assignments != theirs.assignments:
            return _differs("assignments", node_id, mine.assignments, theirs.assignments)
        if mine.group != theirs.group:
            return _differs(
                "group", node_id, numa_mask.text(mine.group), numa_mask.text(theirs.group)
            )
        if mine.tables.keys() != theirs.tables.keys():
            return _differs("types", node_id, sorted(mine.tables), sorted(theirs.tables))
        for name in sorted(mine.tables):
            group = numa_mask.ids(mine.group)
            table = _of_group(mine.tables[name], [found[i].tables[name] for i in group])
            wanted = _of_group(theirs.tables[name], [expected[i].tables[name] for i in group])
            for what, value in table.items():
                if value != wanted[what]:
                    return _differs(f"{name} {what}", node_id, value, wanted[what])
    return None


def _of_group(own: MemoryTable, group: list[MemoryTable]) -> dict[str, int]:
    return {
        "total": own.total,
        "system reserved": own.system_reserved,
        "allocatable": own.allocatable,
        "free in the group": sum(table.free for table in group),
        "reserved in the group": sum(table.reserved for table in group),
    }


def _differs(what: str, node_id: int | None, found: object, expected: object) -> Finding:
    return Finding(
        "memory-state/differs",
        {"what": what, "node": node_id, "found": found, "expected": expected},
    )
