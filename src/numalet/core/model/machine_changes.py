"""A machine after a change of its settings: other huge pages."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.model.machine import HugePagePool, Machine, NumaNode
from numalet.core.model.machine_info import HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.machine_queries import NodeClass, node_class
from numalet.core.model.value import replace


def with_huge_pages(machine: Machine, counts: Mapping[int, int]) -> Machine:
    """Set the number of pages, by size in KiB, on every node with CPUs and memory.

    Other nodes and other sizes stay unchanged. A machine without nodes has its own pages.
    """
    nodes = tuple(_node_with(node, counts) for node in machine.nodes)
    pools = _sums(machine, nodes, counts) if machine.nodes else _pools(machine.hugepages, counts)
    view = None if machine.given_view is None else _view_with(machine.given_view, counts)
    return replace(machine, nodes=nodes, hugepages=pools, given_view=view)


def page_sizes_kib(machine: Machine) -> frozenset[int]:
    nodes = (pool for node in machine.nodes for pool in node.hugepages)
    return frozenset(pool.page_size_kib for pool in (*machine.hugepages, *nodes))


def _node_with(node: NumaNode, counts: Mapping[int, int]) -> NumaNode:
    if node_class(node) is not NodeClass.CPU:
        return node
    return replace(node, hugepages=_pools(node.hugepages, counts))


def _pools(pools: tuple[HugePagePool, ...], counts: Mapping[int, int]) -> tuple[HugePagePool, ...]:
    by_size = {pool.page_size_kib: pool for pool in pools}
    by_size |= {size: HugePagePool(size, count, count) for size, count in counts.items()}
    return tuple(by_size[size] for size in sorted(by_size, key=str))


def _sums(
    machine: Machine, nodes: tuple[NumaNode, ...], counts: Mapping[int, int]
) -> tuple[HugePagePool, ...]:
    """Return the machine's own pools; changed sizes are the sum of the nodes."""
    sums = {
        size: sum(
            pool.count or 0
            for node in nodes
            for pool in node.hugepages
            if pool.page_size_kib == size
        )
        for size in counts
    }
    return _pools(machine.hugepages, sums)


def _view_with(view: MachineInfo, counts: Mapping[int, int]) -> MachineInfo:
    nodes = tuple(_seen_node_with(node, counts) for node in view.nodes)
    sums = {page.page_size_kib: page for page in view.hugepages}
    for size in counts:
        pages = (
            page.count for node in nodes for page in node.hugepages if page.page_size_kib == size
        )
        sums[size] = HugePages(size, sum(pages))
    return replace(view, nodes=nodes, hugepages=tuple(sums[size] for size in sorted(sums, key=str)))


def _seen_node_with(node: NumaNodeInfo, counts: Mapping[int, int]) -> NumaNodeInfo:
    if node_class(node) is not NodeClass.CPU:
        return node
    pages = {page.page_size_kib: page for page in node.hugepages}
    pages |= {size: HugePages(size, count) for size, count in counts.items()}
    return replace(node, hugepages=tuple(pages[size] for size in sorted(pages, key=str)))
