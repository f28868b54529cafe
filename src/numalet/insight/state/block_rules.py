"""Rules for the entries of ``memory_manager_state``, alone and with the node map.

The kubelet itself can make groups overlap; that finding is a warning that says whether the kubelet
starts again with the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from numalet.core.findings.phrases import GROUPS, PAGES, PODS
from numalet.core.findings.state_files import MemoryStateDiffers, MemoryStateWouldCrash
from numalet.core.managers.memory import validation
from numalet.core.managers.memory.ledger import Blocks, MemoryBlock, MemoryLedger
from numalet.core.model import numa_mask, resources
from numalet.core.model.findings import Finding, WarningFinding
from numalet.core.model.pod import ContainerKey
from numalet.insight.state import restart as state_restart
from numalet.insight.state.memory_rules import is_node_id, place
from numalet.insight.state.reading import MemoryState

_BLOCK_NODES: Final = "A block is on nodes of the node map that have memory of its type."


class StatePodWithoutContainers(Finding):
    sentence = "pod {pod} has an entry without containers"
    why = PODS
    pod: str


class StateContainerWithoutBlocks(WarningFinding):
    sentence = "container {container} of pod {pod} has an entry without memory"
    why = PODS
    pod: str
    container: str


class StateTypeTwice(Finding):
    sentence = "container {container} of pod {pod} has two blocks of {type}"
    why = "A container has one block of a type."
    pod: str
    container: str
    type: str


class StateBlockNodes(Finding):
    sentence = (
        "{type} of container {container} of pod {pod} is on the nodes {nodes}, which must be "
        "ascending, each once, and at least one"
    )
    why = _BLOCK_NODES
    pod: str
    container: str
    type: str
    nodes: list[int]


class StateBlockPartOfAPage(Finding):
    sentence = (
        "container {container} of pod {pod} has {size} bytes of {type}, which is not a whole "
        "number of pages"
    )
    why = PAGES
    pod: str
    container: str
    type: str
    size: int


class StateBlockOnAbsentNode(Finding):
    sentence = (
        "{type} of container {container} of pod {pod} is on NUMA nodes {nodes}; the node map has "
        "{known}"
    )
    why = _BLOCK_NODES
    pod: str
    container: str
    type: str
    nodes: list[int]
    known: list[int]


class StatePodBlockOnAbsentNode(Finding):
    sentence = "{type} of pod {pod} as a whole is on NUMA nodes {nodes}; the node map has {known}"
    why = _BLOCK_NODES
    pod: str
    type: str
    nodes: list[int]
    known: list[int]


class StateBlockOfAbsentType(Finding):
    sentence = (
        "container {container} of pod {pod} has {type} on NUMA node {node}, which has no such "
        "memory"
    )
    why = _BLOCK_NODES
    pod: str
    container: str
    type: str
    node: int


class StateSums(Finding):
    sentence = (
        "containers hold {found} bytes of {type}, but {expected} are reserved on the NUMA nodes"
    )
    why = "For every type, the blocks' sizes = what the nodes have reserved."
    type: str
    found: int
    expected: int


class StateGroupsOverlap(WarningFinding):
    sentence = (
        "NUMA node {node} is in the groups {groups} at once; the kubelet brings this about itself. "
        "Would it start again with this file? {restart}"
    )
    why = GROUPS
    node: int
    groups: str
    restart: str


class StateWouldCrash(WarningFinding):
    sentence = (
        "NUMA node {node} is in a group with NUMA node {other}, which has no {type}; the kubelet "
        "crashes over this when it starts"
    )
    why = "Every node has the same memory types."
    node: int
    type: str
    other: int


class StateWouldNotRestart(Finding):
    sentence = (
        "the {what} of NUMA node {node} does not match the file's blocks: the file says {found}, "
        "the blocks give {expected}; the kubelet would not start"
    )
    why = "The kubelet puts the blocks on an empty machine and compares the result with the file."
    what: str
    node: int | None
    found: object
    expected: object


def breaches(state: MemoryState) -> Iterator[Finding]:
    ledger = state.ledger
    of_blocks = [finding for key in ledger.holders() for finding in _container(ledger, key)]
    of_blocks += _whole_pods(ledger)
    yield from of_blocks
    yield from _pods_without_containers(ledger)
    # With blocks on missing nodes, or without a map, the sums cannot be compared.
    if ledger.nodes and not of_blocks and all(map(is_node_id, ledger.nodes)):
        yield from _sums(ledger)
        yield from _groups(ledger)


def _pods_without_containers(ledger: MemoryLedger) -> Iterator[Finding]:
    for uid, containers in ledger.blocks.items():
        if not containers:
            yield StatePodWithoutContainers(pod=uid, where=place(f"entries.{uid}"))


def _container(ledger: MemoryLedger, key: ContainerKey) -> Iterator[Finding]:
    blocks = ledger.blocks_of(key.pod_uid, key.container) or ()
    path = f"entries.{key.pod_uid}.{key.container}"
    if not blocks:
        yield StateContainerWithoutBlocks(
            pod=key.pod_uid, container=key.container, where=place(path)
        )
    for at, block in enumerate(blocks):
        yield from _block(ledger, block, key, f"{path}[{at}]")
    for name in _twice(blocks):
        yield StateTypeTwice(pod=key.pod_uid, container=key.container, type=name, where=place(path))


def _whole_pods(ledger: MemoryLedger) -> Iterator[Finding]:
    # Without a node map there is nothing to compare with.
    for uid, blocks in ledger.pods.items() if ledger.nodes else ():
        for at, block in enumerate(blocks):
            absent = sorted(set(block.nodes) - ledger.nodes.keys())
            if absent:
                yield StatePodBlockOnAbsentNode(
                    pod=uid,
                    type=block.resource,
                    nodes=absent,
                    known=list(ledger.nodes),
                    where=place(f"podEntries.{uid}.memoryBlocks[{at}].numaAffinity"),
                )


def _twice(blocks: Blocks) -> list[str]:
    counts = Counter(block.resource for block in blocks)
    return sorted(name for name, count in counts.items() if count > 1)


def _block(
    ledger: MemoryLedger, block: MemoryBlock, key: ContainerKey, path: str
) -> Iterator[Finding]:
    if not block.nodes or list(block.nodes) != sorted(set(block.nodes)):
        yield StateBlockNodes(
            pod=key.pod_uid,
            container=key.container,
            type=block.resource,
            nodes=list(block.nodes),
            where=place(f"{path}.numaAffinity"),
        )
    page = resources.page_bytes(block.resource)
    if page is not None and block.size_bytes % page:
        yield StateBlockPartOfAPage(
            pod=key.pod_uid,
            container=key.container,
            type=block.resource,
            size=block.size_bytes,
            where=place(f"{path}.size"),
        )
    if not ledger.nodes:
        return
    absent = sorted(set(block.nodes) - ledger.nodes.keys())
    if absent:
        yield StateBlockOnAbsentNode(
            pod=key.pod_uid,
            container=key.container,
            type=block.resource,
            nodes=absent,
            known=list(ledger.nodes),
            where=place(f"{path}.numaAffinity"),
        )
    for node_id in block.nodes:
        if node_id in ledger.nodes and block.resource not in ledger.nodes[node_id].tables:
            yield StateBlockOfAbsentType(
                pod=key.pod_uid,
                container=key.container,
                type=block.resource,
                node=node_id,
                where=place(f"{path}.type"),
            )
            return


def _sums(ledger: MemoryLedger) -> Iterator[Finding]:
    """Report blocks of a type that differ from the reserved sums of its tables."""
    blocks: Counter[str] = Counter()
    reserved: Counter[str] = Counter()
    for _, block in ledger.counted_blocks():
        blocks[block.resource] += block.size_bytes
    for node in ledger.nodes.values():
        for name, table in node.tables.items():
            reserved[name] += table.reserved
    for name in sorted(blocks.keys() | reserved.keys()):
        if blocks[name] != reserved[name]:
            yield StateSums(
                type=name, found=blocks[name], expected=reserved[name], where=place("entries")
            )


def _groups(ledger: MemoryLedger) -> Iterator[Finding]:
    """Report groups that overlap, or another state with which the kubelet would not start."""
    overlapping = overlapping_groups(ledger)
    # With overlapping groups the kubelet's result depends on chance, so a restore proves nothing.
    if overlapping:
        restart = state_restart.would_restart(ledger)
        for node_id, groups in overlapping.items():
            at = place(f"machineState.{node_id}.cells")
            yield StateGroupsOverlap(
                node=node_id,
                groups=", ".join(map(numa_mask.text, groups)),
                restart=restart.value,
                where=at,
            )
        return
    at = place("machineState")
    rebuilt = validation.restored(ledger, state_restart.emptied(ledger.nodes))
    if isinstance(rebuilt, MemoryStateWouldCrash):
        yield StateWouldCrash(node=rebuilt.node, type=rebuilt.type, other=rebuilt.other, where=at)
    elif isinstance(rebuilt, MemoryStateDiffers):
        yield StateWouldNotRestart(
            what=rebuilt.what,
            node=rebuilt.node,
            found=rebuilt.found,
            expected=rebuilt.expected,
            where=at,
        )


def overlapping_groups(ledger: MemoryLedger) -> dict[int, list[int]]:
    """Return nodes with more than one group: their own, a block's, or another node's."""
    groups = {node_id: {node.group} for node_id, node in ledger.nodes.items()}
    for _, block in ledger.counted_blocks():
        for node_id in block.nodes:
            if node_id in groups:
                groups[node_id].add(numa_mask.of(block.nodes))
    for node in ledger.nodes.values():
        for node_id in numa_mask.ids(node.group):
            if node_id in groups:
                groups[node_id].add(node.group)
    return {node_id: sorted(masks) for node_id, masks in groups.items() if len(masks) > 1}
