"""The arithmetic of the node map: its initial state, allocation and release of memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.managers.memory.ledger import UINT64, MemoryTable, NodeMemory
from numalet.core.model import numa_mask, resources
from numalet.core.model.machine_info import HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.value import replace

SystemReserved = Mapping[int, Mapping[str, int]]


def initial_nodes(
    machine: MachineInfo, system_reserved: SystemReserved, behaviour: Behaviour = EXACT
) -> dict[int, NodeMemory]:
    """Return the empty node map of the nodes that provide memory, by node id ascending.

    Kubelet: ``staticPolicy.getDefaultMachineState``, v1.32.
    """
    nodes = sorted(filter(behaviour.gives_memory, machine.nodes), key=lambda node: node.node_id)
    if not behaviour.missing_page_size_crashes:
        nodes = _with_every_page_size(nodes)
    return {
        node.node_id: NodeMemory(
            assignments=0,
            tables=_initial_tables(node, system_reserved.get(node.node_id, {})),
            group=numa_mask.of((node.node_id,)),
        )
        for node in nodes
    }


def _with_every_page_size(nodes: Sequence[NumaNodeInfo]) -> list[NumaNodeInfo]:
    """Add page sizes that only other nodes list, with 0 pages."""
    sizes = sorted({pages.page_size_kib for node in nodes for pages in node.hugepages})
    return [replace(node, hugepages=_all_sizes(node, sizes)) for node in nodes]


def _all_sizes(node: NumaNodeInfo, sizes: Iterable[int]) -> tuple[HugePages, ...]:
    listed = {pages.page_size_kib for pages in node.hugepages}
    return (*node.hugepages, *(HugePages(size, 0) for size in sizes if size not in listed))


def _initial_tables(node: NumaNodeInfo, reserved: Mapping[str, int]) -> dict[str, MemoryTable]:
    tables = {}
    hugepages_bytes = 0
    for pages in node.hugepages:
        name = resources.hugepages_name(pages.page_size_kib)
        total = pages.count * pages.page_size_kib * 1024
        hugepages_bytes += total
        tables[name] = _empty_table(total, reserved.get(name, 0), not_for_this_type=0)
    tables[resources.MEMORY] = _empty_table(
        node.memory_bytes, reserved.get(resources.MEMORY, 0), not_for_this_type=hugepages_bytes
    )
    return dict(sorted(tables.items()))


def _empty_table(total: int, system_reserved: int, not_for_this_type: int) -> MemoryTable:
    system_reserved &= UINT64
    # MemTotal of a node includes its huge pages, and the kernel cannot use these for anything else.
    # A uint64 of Go wraps around if the reservation is larger than the node.
    allocatable = (total - system_reserved - not_for_this_type) & UINT64
    return MemoryTable(total, system_reserved, allocatable, reserved=0, free=allocatable)


def allocate(
    nodes: dict[int, NodeMemory], node_ids: Iterable[int], resource: str, size_bytes: int
) -> None:
    """Allocate memory in ``nodes`` on these nodes in order, as much as each has.

    Like the kubelet, drop the rest silently.
    """
    for node_id in node_ids:
        table = nodes[node_id].tables[resource]
        moved = min(size_bytes, table.free)
        if moved:
            _move(nodes, node_id, resource, moved)
            size_bytes -= moved


def give_back(
    nodes: dict[int, NodeMemory], node_ids: Iterable[int], resource: str, size_bytes: int
) -> None:
    """Release memory on the nodes in order, up to the reserved memory of any container."""
    for node_id in node_ids:
        table = nodes[node_id].tables[resource]
        # The node map does not record which container's bytes are where in a group, so a release
        # may lower another node than the allocation raised. Only the group's sums are exact.
        returned = min(size_bytes, table.reserved)
        if returned:
            _move(nodes, node_id, resource, -returned)
            size_bytes -= returned


def _move(nodes: dict[int, NodeMemory], node_id: int, resource: str, size_bytes: int) -> None:
    node = nodes[node_id]
    after = moved(node.tables, resource, size_bytes)
    nodes[node_id] = NodeMemory(node.assignments, after, node.group)


def moved(
    before: Mapping[str, MemoryTable], resource: str, size_bytes: int
) -> Mapping[str, MemoryTable]:
    """Return the tables of one node after bytes moved from free to reserved."""
    old = before[resource]
    table = MemoryTable(
        old.total,
        old.system_reserved,
        old.allocatable,
        (old.reserved + size_bytes) & UINT64,
        (old.free - size_bytes) & UINT64,
    )
    return {**before, resource: table}
