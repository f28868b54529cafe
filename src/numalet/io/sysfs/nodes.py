"""Reads ``sys/devices/system/node``: the memory, CPUs, huge pages and distances of NUMA nodes.

Nodes are in the order of their directory names: node0, node1, node10, node2.
"""

from __future__ import annotations

import re
from typing import Final

from numalet.core.model.cpu_set import EMPTY, CpuSet
from numalet.core.model.machine import HugePagePool, NumaNode
from numalet.io.sysfs import kernel_text
from numalet.io.sysfs.records import TreeSource

NODE_DIR: Final = "sys/devices/system/node"
GLOBAL_PAGES: Final = "sys/kernel/mm/hugepages"
LISTS: Final = (
    "online",
    "possible",
    "has_cpu",
    "has_memory",
    "has_normal_memory",
    "has_generic_initiator",
)

_POOL: Final = re.compile(r"hugepages-[0-9]{1,12}kB", re.ASCII)


def read_nodes(source: TreeSource) -> tuple[NumaNode, ...]:
    directories = source.numbered(NODE_DIR, "node")
    by_name = sorted(directories.items(), key=lambda item: item[1])
    return tuple(_read_node(source, node_id, f"{NODE_DIR}/{name}") for node_id, name in by_name)


def _read_node(source: TreeSource, node_id: int, folder: str) -> NumaNode:
    links = source.numbered(folder, "cpu")
    broken = {cpu_id for cpu_id, name in links.items() if _is_broken(source, folder, name)}
    memory_kib = source.read(f"{folder}/meminfo", kernel_text.mem_total_kib)
    return NumaNode(
        node_id=node_id,
        memory_bytes=None if memory_kib is None else memory_kib * 1024,
        cpus=_cpus(source, folder, frozenset(links)),
        linked_cpus=frozenset(links),
        broken_links=frozenset(broken),
        hugepages=read_pools(source, f"{folder}/hugepages"),
        distances=source.read(f"{folder}/distance", kernel_text.integers),
    )


def _cpus(source: TreeSource, folder: str, linked: CpuSet) -> CpuSet:
    """The CPUs of a node, from the list, else the mask, else the links."""
    listed = source.read(f"{folder}/cpulist", kernel_text.cpu_list)
    # An empty list is valid (a node without CPUs) unless the mask has CPUs.
    if listed:
        return listed
    masked = source.read(f"{folder}/cpumap", kernel_text.cpu_mask)
    if masked is not None:
        return masked
    return linked if listed is None else EMPTY


def _is_broken(source: TreeSource, folder: str, name: str) -> bool:
    """Whether the entry of a CPU links to something else, such as its own directory."""
    target = source.tree.link(f"{folder}/{name}")
    return target is not None and target.rstrip("/").rpartition("/")[2] != name


def read_pools(source: TreeSource, folder: str) -> tuple[HugePagePool, ...]:
    """Pools of huge pages by directory name, so 1 GiB before 2 MiB."""
    return tuple(_read_pool(source, folder, name) for name in source.tree.names(folder, _POOL))


def _read_pool(source: TreeSource, folder: str, name: str) -> HugePagePool:
    return HugePagePool(
        page_size_kib=int(name.removeprefix("hugepages-").removesuffix("kB")),
        count=source.read(f"{folder}/{name}/nr_hugepages", kernel_text.integer),
        free=source.read(f"{folder}/{name}/free_hugepages", kernel_text.integer),
    )
