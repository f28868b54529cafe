"""What must hold of the entries of ``memory_manager_state``, alone and with the node map.

A breach is a finding, as in ``state_memory_rules``. Where groups overlap, which v1.32 itself
brings about, the finding is a warning that says whether v1.32 starts again on the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from numalet.core.managers.memory import validation
from numalet.core.managers.memory.ledger import Blocks, MemoryBlock, MemoryLedger
from numalet.core.model import numa_mask, resources
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import ContainerKey
from numalet.insight.state import restart as state_restart
from numalet.insight.state.memory_rules import is_node_id, place
from numalet.insight.state.reading import MemoryState


def breaches(state: MemoryState) -> Iterator[Finding]:
    """Every broken rule of the entries, and of entries and node map together."""
    ledger = state.ledger
    of_blocks = [finding for key in ledger.holders() for finding in _container(ledger, key)]
    yield from of_blocks
    yield from _pods_without_containers(ledger)
    # With blocks on nodes that are not there, or no map, the sums can not be compared.
    if ledger.nodes and not of_blocks and all(map(is_node_id, ledger.nodes)):
        yield from _sums(ledger)
        yield from _groups(ledger)


def _pods_without_containers(ledger: MemoryLedger) -> Iterator[Finding]:
    for uid, containers in ledger.blocks.items():
        if not containers:
            yield Finding("state/pod-without-containers", {"pod": uid}, place(f"entries.{uid}"))


def _container(ledger: MemoryLedger, key: ContainerKey) -> Iterator[Finding]:
    blocks = ledger.blocks_of(key.pod_uid, key.container) or ()
    path = f"entries.{key.pod_uid}.{key.container}"
    who = {"pod": key.pod_uid, "container": key.container}
    if not blocks:
        yield Finding("state/container-without-blocks", who, place(path), Severity.WARNING)
    for at, block in enumerate(blocks):
        yield from _block(ledger, block, who, f"{path}[{at}]")
    for name in _twice(blocks):
        yield Finding("state/type-twice", {**who, "type": name}, place(path))


def _twice(blocks: Blocks) -> list[str]:
    counts = Counter(block.resource for block in blocks)
    return sorted(name for name, count in counts.items() if count > 1)


def _block(
    ledger: MemoryLedger, block: MemoryBlock, who: dict[str, str], path: str
) -> Iterator[Finding]:
    where: dict[str, object] = {**who, "type": block.resource}
    if not block.nodes or list(block.nodes) != sorted(set(block.nodes)):
        fields = {**where, "nodes": list(block.nodes)}
        yield Finding("state/block-nodes", fields, place(f"{path}.numaAffinity"))
    page = resources.page_bytes(block.resource)
    if page is not None and block.size_bytes % page:
        fields = {**where, "size": block.size_bytes}
        yield Finding("state/block-part-of-a-page", fields, place(f"{path}.size"))
    if not ledger.nodes:
        return
    absent = sorted(set(block.nodes) - ledger.nodes.keys())
    if absent:
        fields = {**where, "nodes": absent, "known": list(ledger.nodes)}
        yield Finding("state/block-on-absent-node", fields, place(f"{path}.numaAffinity"))
    for node_id in block.nodes:
        if node_id in ledger.nodes and block.resource not in ledger.nodes[node_id].tables:
            fields = {**where, "node": node_id}
            yield Finding("state/block-of-absent-type", fields, place(f"{path}.type"))
            return


def _sums(ledger: MemoryLedger) -> Iterator[Finding]:
    """Where the blocks of a type are not what its tables have reserved."""
    blocks: Counter[str] = Counter()
    reserved: Counter[str] = Counter()
    for containers in ledger.blocks.values():
        for block in (block for held in containers.values() for block in held):
            blocks[block.resource] += block.size_bytes
    for node in ledger.nodes.values():
        for name, table in node.tables.items():
            reserved[name] += table.reserved
    for name in sorted(blocks.keys() | reserved.keys()):
        if blocks[name] != reserved[name]:
            fields = {"type": name, "found": blocks[name], "expected": reserved[name]}
            yield Finding("state/sums", fields, place("entries"))


def _groups(ledger: MemoryLedger) -> Iterator[Finding]:
    """Groups that overlap, or anything else that v1.32 would not start with."""
    overlapping = overlapping_groups(ledger)
    if overlapping:
        restart = state_restart.would_restart(ledger)
        for node_id, groups in overlapping.items():
            fields = {
                "node": node_id,
                "groups": ", ".join(map(numa_mask.text, groups)),
                "restart": restart.value,
            }
            at = place(f"machineState.{node_id}.cells")
            yield Finding("state/groups-overlap", fields, at, Severity.WARNING)
        return
    rebuilt = validation.restored(ledger, state_restart.emptied(ledger.nodes))
    if not isinstance(rebuilt, Finding):
        return
    if rebuilt.code == "memory-state/would-crash":
        at = place("machineState")
        yield Finding("state/would-crash", rebuilt.fields, at, Severity.WARNING)
    else:
        yield Finding("state/would-not-restart", rebuilt.fields, place("machineState"))


def overlapping_groups(ledger: MemoryLedger) -> dict[int, list[int]]:
    """Nodes with more than one group: of their own, of a block, or of a node of theirs."""
    groups = {node_id: {node.group} for node_id, node in ledger.nodes.items()}
    for containers in ledger.blocks.values():
        for block in (block for blocks in containers.values() for block in blocks):
            for node_id in block.nodes:
                groups[node_id].add(numa_mask.of(block.nodes))
    for node in ledger.nodes.values():
        for node_id in numa_mask.ids(node.group):
            if node_id in groups:
                groups[node_id].add(node.group)
    return {node_id: sorted(masks) for node_id, masks in groups.items() if len(masks) > 1}
