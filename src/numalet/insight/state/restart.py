"""Predict whether v1.32 would start again with a memory state file on the same machine.

The kubelet puts every block on an empty node map again and compares. Kubelet: ``validateState``,
v1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import permutations

from numalet.core.managers.memory import validation
from numalet.core.managers.memory.ledger import Blocks, MemoryLedger, MemoryTable, NodeMemory
from numalet.core.model import numa_mask
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey

_MOST_PERMUTED = 5
"""Up to this number, disagreeing containers are tried in every order.

Above it, those on the same nodes stay together, because only the last one on a node matters, and
they are alike.
"""


class Restart(Enum):
    YES = "yes"
    BY_CHANCE = "by chance"
    NO = "no"


def would_restart(ledger: MemoryLedger) -> Restart:
    initial = emptied(ledger.nodes)
    # The kubelet visits pods and containers in random order, and the last block on a node
    # determines its group.
    accepted = {
        not isinstance(validation.restored(each, initial), Finding)
        for each in _orders(_as_counted(ledger))
    }
    if accepted == {True}:
        return Restart.YES
    return Restart.NO if accepted == {False} else Restart.BY_CHANCE


def _as_counted(ledger: MemoryLedger) -> MemoryLedger:
    """Return the ledger with one nameless record for each pod-level placement."""
    whole = {uid: {"": held} for uid, held in ledger.pods.items() if held and uid in ledger.blocks}
    return MemoryLedger(ledger.nodes, {**ledger.blocks, **whole}) if whole else ledger


def emptied(nodes: Mapping[int, NodeMemory]) -> dict[int, NodeMemory]:
    return {
        node_id: NodeMemory(
            0,
            {name: _emptied(table) for name, table in node.tables.items()},
            numa_mask.of((node_id,)),
        )
        for node_id, node in nodes.items()
    }


def _emptied(table: MemoryTable) -> MemoryTable:
    return MemoryTable(
        table.total, table.system_reserved, table.allocatable, 0, free=table.allocatable
    )


def _orders(ledger: MemoryLedger) -> Iterator[MemoryLedger]:
    """Yield the ledger with its records in all relevant orders."""
    disagreeing = _disagreeing(ledger)
    others = [key for key in ledger.holders() if key not in disagreeing]
    for last in _arranged(ledger, disagreeing):
        # A joined name of pod and container keeps the records of one pod apart.
        yield MemoryLedger(
            ledger.nodes,
            {
                f"{key.pod_uid}/{key.container}": {key.container: _blocks(ledger, key)}
                for key in (*others, *last)
            },
        )


def _arranged(ledger: MemoryLedger, keys: list[ContainerKey]) -> Iterator[list[ContainerKey]]:
    if len(keys) <= _MOST_PERMUTED:
        yield from map(list, permutations(keys))
        return
    on_nodes: dict[tuple[int, ...], list[ContainerKey]] = {}
    for key in keys:
        masks = tuple(numa_mask.of(block.nodes) for block in _blocks(ledger, key))
        on_nodes.setdefault(masks, []).append(key)
    classes = list(on_nodes.values())
    for at in range(len(classes)):
        turned = [*classes[at:], *classes[:at]]
        yield [key for each in turned for key in each]
        yield [key for each in reversed(turned) for key in each]


def _blocks(ledger: MemoryLedger, key: ContainerKey) -> Blocks:
    return ledger.blocks_of(key.pod_uid, key.container) or ()


def _disagreeing(ledger: MemoryLedger) -> list[ContainerKey]:
    """Return containers with a block on a node that another block has in another group."""
    groups: dict[int, set[int]] = {}
    for _, mask in _masks(ledger):
        for node_id in numa_mask.ids(mask):
            groups.setdefault(node_id, set()).add(mask)
    torn = {
        key for key, mask in _masks(ledger) if any(len(groups[i]) > 1 for i in numa_mask.ids(mask))
    }
    return sorted(torn)


def _masks(ledger: MemoryLedger) -> Iterator[tuple[ContainerKey, int]]:
    for key in ledger.holders():
        for block in _blocks(ledger, key):
            yield key, numa_mask.of(block.nodes)
