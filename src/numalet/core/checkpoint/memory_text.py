"""Writes ``memory_manager_state`` from a ledger.

One walk over the ledger makes the file and Go's printed form of it for the checksum (``go_dump``).
``memory_document`` is for files that were read, where any member may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.checkpoint import both_forms, data_member, go_dump, pod_entries
from numalet.core.checkpoint.both_forms import BothForms
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.go_json import string
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.managers.memory.ledger import (
    Blocks,
    MemoryBlock,
    MemoryLedger,
    MemoryTable,
    NodeMemory,
)
from numalet.core.model.value import kept


def text(policy_name: str, ledger: MemoryLedger, rules: ReleaseRules) -> str:
    """Return one line, without blanks and without a newline at the end."""
    nodes_dump, nodes = both_forms.map_by_number(ledger.nodes, _node)
    entries_dump, entries = both_forms.map_of(ledger.blocks, _containers)
    # The kubelet omits an empty member.
    members = f'"policyName":{string(policy_name)},"machineState":{nodes}'
    members += f',"entries":{entries}' if ledger.blocks else ""
    pods_dump, further = None, ""
    if rules.state_files_have_pods:
        pods_dump, pods = both_forms.map_of(ledger.pods, _pod)
        further = f',"{pod_entries.MEMBER}":{pods}' if ledger.pods else ""
    if rules.state_files_have_data:
        checksum = fnv1a_32(go_dump.memory_of(policy_name, nodes_dump, entries_dump, None))
        return data_member.text(members, checksum, further)
    checksum = fnv1a_32(go_dump.memory_of(policy_name, nodes_dump, entries_dump, pods_dump))
    return f'{{{members}{further},"checksum":{checksum}}}'


def _node(node: NodeMemory) -> BothForms:
    return kept(node, "text", _new_node, node)


def _new_node(node: NodeMemory) -> BothForms:
    dumps, texts = [], []
    for name, table in sorted(node.tables.items()):
        dump, text = kept(table, "text", _new_table, table)
        dumps.append(f"{name}:{dump}")
        texts.append(f"{string(name)}:{text}")
    group_dump, group = both_forms.nodes(node.group)
    return go_dump.node_of(node.assignments, f"map[{' '.join(dumps)}]", group_dump), (
        f'{{"numberOfAssignments":{node.assignments},'
        f'"memoryMap":{{{",".join(texts)}}},"cells":{group}}}'
    )


def _new_table(table: MemoryTable) -> BothForms:
    # Formatting integers is the main cost: format each number once for both texts.
    total, system_reserved = str(table.total), str(table.system_reserved)
    allocatable, reserved, free = str(table.allocatable), str(table.reserved), str(table.free)
    return go_dump.table_of(total, system_reserved, allocatable, reserved, free), (
        f'{{"total":{total},"systemReserved":{system_reserved},'
        f'"allocatable":{allocatable},"reserved":{reserved},"free":{free}}}'
    )


def _containers(containers: Mapping[str, Blocks]) -> BothForms:
    return both_forms.map_of(containers, _blocks)


def _pod(blocks: Blocks) -> BothForms:
    # In Go an empty list of blocks is nil, and the file omits it.
    if not blocks:
        return go_dump.pod_of(go_dump.NIL), "{}"
    dump, text = _blocks(blocks)
    return go_dump.pod_of(dump), f'{{"memoryBlocks":{text}}}'


def _blocks(blocks: Blocks) -> BothForms:
    return both_forms.list_of([kept(block, "text", _new_block, block) for block in blocks])


def _new_block(block: MemoryBlock) -> BothForms:
    dump, nodes = both_forms.numbers(block.nodes)
    size = str(block.size_bytes)
    return go_dump.block_of(dump, block.resource, size), (
        f'{{"numaAffinity":{nodes},"type":{string(block.resource)},"size":{size}}}'
    )
