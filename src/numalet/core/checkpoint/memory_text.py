"""The text of ``memory_manager_state`` as the Memory Manager writes it: from a ledger.

The checksum covers what Go prints of the same content (``go_dump``), so both are made in one walk
over the ledger. ``memory_document`` is for files that were read, where anything may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from numalet.core.checkpoint import both_forms, go_dump, pod_entries
from numalet.core.checkpoint.both_forms import BothForms
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.go_json import string
from numalet.core.managers.memory.ledger import Blocks, MemoryLedger, NodeMemory


def text(policy_name: str, ledger: MemoryLedger, has_pods: bool) -> str:
    """One line, no blanks, no newline at the end.

    ``has_pods``: in the format that says what pods got as a whole.
    """
    nodes_dump, nodes = both_forms.map_by_number(ledger.nodes, _node)
    entries_dump, entries = both_forms.map_of(ledger.blocks, _containers)
    # The kubelet writes no member for none.
    members = f'"entries":{entries},' if ledger.blocks else ""
    pods_dump = None
    if has_pods:
        pods_dump, pods = both_forms.map_of(ledger.pods, _pod)
        members += f'"{pod_entries.MEMBER}":{pods},' if ledger.pods else ""
    checksum = fnv1a_32(go_dump.memory_of(policy_name, nodes_dump, entries_dump, pods_dump))
    return (
        f'{{"policyName":{string(policy_name)},"machineState":{nodes},'
        f'{members}"checksum":{checksum}}}'
    )


_table_values = attrgetter("total", "system_reserved", "allocatable", "reserved", "free")
_block_values = attrgetter("nodes", "resource", "size_bytes")


def _node(node: NodeMemory) -> BothForms:
    tables = node.tables
    values = tuple(map(_table_values, tables.values()))
    return both_forms.node(node.assignments, node.group, tuple(tables), values)


def _containers(containers: Mapping[str, Blocks]) -> BothForms:
    return both_forms.map_of(containers, _blocks)


def _pod(blocks: Blocks) -> BothForms:
    # No blocks are nil in Go, and no member in the file.
    if not blocks:
        return go_dump.pod_of(go_dump.NIL), "{}"
    dump, text = _blocks(blocks)
    return go_dump.pod_of(dump), f'{{"memoryBlocks":{text}}}'


def _blocks(blocks: Blocks) -> BothForms:
    return both_forms.blocks(tuple(map(_block_values, blocks)))
