"""What a kubelet sees of a machine, in the form of the machine of a recorded scenario."""

from __future__ import annotations

from collections import Counter
from typing import Any

from numalet.core.model.machine_info import (
    CoreInfo,
    HugePages,
    MachineInfo,
    NumaNodeInfo,
    OperatingSystem,
)


def of(machine: MachineInfo) -> dict[str, Any]:
    recorded: dict[str, Any] = {"numa_nodes": [_node(node) for node in machine.nodes]}
    if machine.os is not OperatingSystem.LINUX:
        recorded["os"] = machine.os.value
    totals = _totals(machine)
    return recorded | ({"totals": totals} if totals else {})


def _totals(machine: MachineInfo) -> dict[str, Any]:
    """Return totals that are not the sums over the nodes, as on a machine without NUMA."""
    cores = [core for node in machine.nodes for core in node.cores]
    pages: Counter[int] = Counter()
    for node in machine.nodes:
        for each in node.hugepages:
            pages[each.page_size_kib] += each.count
    pages_by_size = {each.page_size_kib: each.count for each in machine.hugepages}
    sums: dict[str, Any] = {}
    if machine.memory_capacity_bytes != sum(node.memory_bytes for node in machine.nodes):
        sums["memory_bytes"] = machine.memory_capacity_bytes
    if machine.cpu_count != sum(len(core.threads) for core in cores):
        sums["cpus"] = machine.cpu_count
    if machine.socket_count != len({core.socket_id for core in cores}):
        sums["sockets"] = machine.socket_count
    if pages_by_size != pages:
        sums["hugepages"] = [_pages(each) for each in machine.hugepages]
    return sums


def _pages(pages: HugePages) -> dict[str, int]:
    return {"page_size_kib": pages.page_size_kib, "count": pages.count}


def _node(node: NumaNodeInfo) -> dict[str, Any]:
    recorded: dict[str, Any] = {
        "id": node.node_id,
        "memory_bytes": node.memory_bytes,
        "hugepages": [_pages(pages) for pages in node.hugepages],
        "cores": [_core(core) for core in node.cores],
    }
    if node.distances is not None:
        recorded["distances"] = list(node.distances)
    return recorded


def _core(core: CoreInfo) -> dict[str, Any]:
    return {
        "id": core.core_id,
        "socket": core.socket_id,
        "threads": list(core.threads),
        "uncore_cache": core.uncore_cache_id,
    }
