"""Allocate and release a container's blocks in the node map.

Each requested type gives one block of the full size on all nodes of the affinity. Kubelet:
``staticPolicy.Allocate``, ``RemoveContainer``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.managers.memory import init_reuse, tables
from numalet.core.managers.memory.demand import Demand
from numalet.core.managers.memory.ledger import (
    Blocks,
    MemoryBlock,
    MemoryLedger,
    NodeMemory,
    with_blocks,
)
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import without_keys


def allocate(
    ledger: MemoryLedger, pod: Pod, container: Container, demand: Demand, affinity: NumaMask
) -> MemoryLedger:
    node_ids = numa_mask.ids(affinity)
    nodes = dict(ledger.nodes)
    reusable = ledger.reusable.of_pod(pod.uid)
    for name, size in demand.items():
        # Memory reused from init containers is not taken again.
        left = max(0, size - reusable.get((affinity, name), 0))
        # From the lowest node upwards, as much as each has. Every node of the affinity counts the
        # block and joins the group, even if it gives no memory.
        for node_id in node_ids:
            node = nodes[node_id]
            moved = min(left, node.tables[name].free)
            left -= moved
            held = tables.moved(node.tables, name, moved) if moved else node.tables
            nodes[node_id] = NodeMemory(node.assignments + 1, held, affinity)
    blocks: Blocks = tuple([MemoryBlock(node_ids, name, size) for name, size in demand.items()])
    records = with_blocks(ledger.blocks, pod.uid, container.name, blocks)
    # Only then can blocks of earlier containers overlap with these.
    if pod.init_containers:
        records[pod.uid] = init_reuse.shrunk(records[pod.uid], pod, container, blocks)
    after = init_reuse.after(ledger.reusable, pod, container, blocks)
    return MemoryLedger(nodes, records, after, ledger.pods).following(ledger)


def allocate_whole(
    ledger: MemoryLedger, pod_uid: str, total: Blocks, parts: Mapping[str, Blocks]
) -> MemoryLedger:
    nodes = dict(ledger.nodes)
    for block in total:
        _count(nodes, block.nodes, +1, group=numa_mask.of(block.nodes))
        tables.allocate(nodes, block.nodes, block.resource, block.size_bytes)
    return MemoryLedger(
        nodes,
        {**ledger.blocks, pod_uid: parts},
        ledger.reusable,
        {**ledger.pods, pod_uid: total},
    )


def release(ledger: MemoryLedger, key: ContainerKey) -> MemoryLedger:
    """Release this container; return the same ledger if it has no record."""
    of_pod = ledger.blocks.get(key.pod_uid, {})
    if key.container not in of_pod:
        return ledger
    others = without_keys(of_pod, (key.container,))
    if not others:
        return release_pod(ledger, key.pod_uid)
    # The blocks of a pod that was placed as a whole stay until its last container ends.
    blocks = () if key.pod_uid in ledger.pods else of_pod[key.container]
    return _given_back(ledger, blocks, {**ledger.blocks, key.pod_uid: others}, ledger.pods)


def release_pod(ledger: MemoryLedger, pod_uid: str) -> MemoryLedger:
    """Release all containers of a pod; return the same ledger if it has no records."""
    of_pod = ledger.blocks.get(pod_uid)
    if not of_pod:
        return ledger
    records, pods = without_keys(ledger.blocks, (pod_uid,)), ledger.pods
    if pod_uid in pods:
        return _given_back(ledger, pods[pod_uid], records, without_keys(pods, (pod_uid,)))
    # Sorted, because the order decides which node of a group gets how much back (see
    # ``give_back``); the kubelet's order is that of a Go map.
    blocks = [block for _, blocks in sorted(of_pod.items()) for block in blocks]
    return _given_back(ledger, blocks, records, pods)


def _given_back(
    ledger: MemoryLedger,
    blocks: Iterable[MemoryBlock],
    records: Mapping[str, Mapping[str, Blocks]],
    pods: Mapping[str, Blocks],
) -> MemoryLedger:
    """Return a ledger with these records, after releasing the memory of these blocks."""
    nodes = dict(ledger.nodes)
    for block in blocks:
        _count(nodes, block.nodes, -1, group=None)
        tables.give_back(nodes, block.nodes, block.resource, block.size_bytes)
    return MemoryLedger(nodes, records, ledger.reusable, pods).following(ledger)


def _count(
    nodes: dict[int, NodeMemory], node_ids: tuple[int, ...], change: int, group: NumaMask | None
) -> None:
    """Count a block on its nodes; without ``group``, at its release."""
    for node_id in node_ids:
        node = nodes[node_id]
        assignments = node.assignments + change
        if group is not None:
            new_group = group
        else:
            # A node without assignments leaves its group.
            new_group = node.group if assignments else numa_mask.of((node_id,))
        nodes[node_id] = NodeMemory(assignments, node.tables, new_group)
