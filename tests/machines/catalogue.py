"""A machine as the two kinds of figures that the catalogue of machines gives."""

from __future__ import annotations

from typing import Any

from machines import machine_counts
from numalet.core.model import cpu_set
from numalet.core.model import machine_queries as ask
from numalet.core.model.machine import HugePagePool, Machine, NumaNode
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo

_CPU_FILES = ("online", "offline", "present", "possible", "isolated", "kernel_max", "nohz_full")
_NODE_FILES = (
    "online",
    "possible",
    "has_cpu",
    "has_memory",
    "has_normal_memory",
    "has_generic_initiator",
)


def figures(machine: Machine) -> dict[str, Any]:
    """The machine as it is, key by key as in ``expected``."""
    return _cpu_figures(machine) | _node_figures(machine) | _memory_figures(machine)


def _cpu_figures(machine: Machine) -> dict[str, Any]:
    groups = machine_counts.cache_groups(machine)
    # A group is named by its CPUs in ascending order.
    l3 = sorted(sorted(group) for group in groups.get("L3", ()))
    return {
        "cpus_online": cpu_set.text(machine.online_cpus),
        "cpus_online_count": len(machine.online_cpus),
        "cpus_offline_dirs": cpu_set.text(machine.offline_cpus),
        "cpu_files": {name: machine.cpu_files.get(name) for name in _CPU_FILES},
        "sockets": len(ask.sockets(machine)),
        "package_ids": list(ask.package_ids(machine)),
        "dies": machine_counts.die_count(machine),
        "clusters": machine_counts.cluster_count(machine),
        "cores": len(ask.cores(machine)),
        "cores_by_package_and_core_id": ask.core_id_count(machine),
        "threads_per_core": list(ask.threads_per_core(machine)),
        "caches": {name: len(sets) for name, sets in groups.items()},
        "l3_groups": [cpu_set.text(group) for group in l3] if "L3" in groups else None,
    }


def _node_figures(machine: Machine) -> dict[str, Any]:
    numa = machine.has_numa
    rows = [list(node.distances) if node.distances else None for node in machine.nodes_by_id]
    online = machine_counts.online_node_ids(machine)
    return {
        "numa": numa,
        "numa_nodes_online": len(online) if numa else None,
        "node_ids": cpu_set.text(online) if numa else None,
        "node_files": {k: machine.node_files.get(k) for k in _NODE_FILES} if numa else None,
        "nodes": [_node(machine, node) for node in machine.nodes_by_id],
        "cpuless_nodes": cpu_set.text(ask.cpuless_nodes(machine)),
        "memoryless_nodes": cpu_set.text(ask.memoryless_nodes(machine)),
        "distances": rows if any(rows) else None,
    }


def _node(machine: Machine, node: NumaNode) -> dict[str, Any]:
    pools = sorted(node.hugepages, key=lambda pool: pool.page_size_kib)
    return {
        "id": node.node_id,
        "cpus": cpu_set.text(node.cpus),
        "cpus_online": cpu_set.text(ask.online_part(machine, node)),
        "cpu_links": cpu_set.text(node.linked_cpus),
        "mem_total_kb": None if node.memory_bytes is None else node.memory_bytes // 1024,
        "hugepages_kb": {str(p.page_size_kib): {"nr": p.count, "free": p.free} for p in pools},
    }


def _memory_figures(machine: Machine) -> dict[str, Any]:
    pools = sorted(machine.hugepages, key=lambda pool: pool.page_size_kib)
    return {
        "hugepage_sizes_kb_global": [pool.page_size_kib for pool in pools],
        "hugepages_global": {str(pool.page_size_kib): pool.count for pool in pools},
        "hugepage_sizes_kb_per_node": list(ask.page_sizes_kib(machine)),
        "proc_meminfo_kb": machine.proc.meminfo,
    }


def view_figures(info: MachineInfo) -> dict[str, Any]:
    """The kubelet's view, key by key as in ``cadvisor``; nodes and cores sorted as there."""
    return {
        "num_cores": info.cpu_count,
        "num_physical_cores": info.physical_core_count,
        "num_sockets": info.socket_count,
        "memory_capacity": info.memory_capacity_bytes,
        "hugepages": _pages(info.hugepages),
        "nodes": [_node_view(node) for node in sorted(info.nodes, key=lambda n: n.node_id)],
    }


def _node_view(node: NumaNodeInfo) -> dict[str, Any]:
    return {
        "node_id": node.node_id,
        "memory": node.memory_bytes,
        "hugepages": _pages(node.hugepages),
        "distances": None if node.distances is None else list(node.distances),
        "cores": sorted((_core(core) for core in node.cores), key=lambda row: (row[:3], row[4:])),
        "caches": [[c.level, c.cache_id, c.size_bytes] for c in node.caches],
    }


def _core(core: CoreInfo) -> list[Any]:
    row: list[Any] = [core.socket_id, core.core_id, list(core.threads), core.uncore_cache_id]
    return [*row, core.book_id, core.drawer_id] if core.book_id or core.drawer_id else row


def _pages(pages: tuple[HugePages, ...]) -> list[dict[str, int]] | None:
    # cAdvisor tells a missing directory (null) from an empty one; nothing depends on it.
    return [{"page_size": p.page_size_kib, "num_pages": p.count} for p in pages] or None


def pool_counts(pools: tuple[HugePagePool, ...]) -> dict[int, int | None]:
    """Counts by page size in KiB."""
    return {pool.page_size_kib: pool.count for pool in pools}
