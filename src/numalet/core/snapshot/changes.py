"""The difference between two snapshots."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import ShownValue
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot


class Changes(ShownValue):
    """The changes from one snapshot to a later one.

    ``allocated`` and ``released`` are the new and the old placements of all containers whose
    placement changed; a container that got other resources is in both. ``reserved_bytes`` is by
    node id and memory type, only where it changed. ``groups`` are the new groups of the nodes whose
    group changed.
    """

    pods_added: tuple[str, ...]
    pods_gone: tuple[str, ...]
    allocated: Mapping[ContainerKey, Placement]
    released: Mapping[ContainerKey, Placement]
    reserved_bytes: Mapping[int, Mapping[str, int]]
    groups: Mapping[int, NumaMask]


def diff_snapshots(before: Snapshot, after: Snapshot) -> Changes:
    """Return the changes; containers and nodes are sorted."""
    held, holds = placement.of_all(before), placement.of_all(after)
    nodes = [
        (node_id, before.memory.nodes[node_id], node)
        for node_id, node in after.memory.nodes.items()
        if node_id in before.memory.nodes
    ]
    moved = {node_id: _moved(old, new) for node_id, old, new in nodes}
    return Changes(
        pods_added=tuple(sorted(after.pods.keys() - before.pods.keys())),
        pods_gone=tuple(sorted(before.pods.keys() - after.pods.keys())),
        allocated={key: now for key, now in holds.items() if held.get(key) != now},
        released={key: then for key, then in held.items() if holds.get(key) != then},
        reserved_bytes={node_id: types for node_id, types in moved.items() if types},
        groups={node_id: new.group for node_id, old, new in nodes if old.group != new.group},
    )


def _moved(old: NodeMemory, new: NodeMemory) -> dict[str, int]:
    differences = {
        name: table.reserved - old.tables[name].reserved for name, table in new.tables.items()
    }
    return {name: size for name, size in differences.items() if size}
