"""Memory of a cgroup by kind of page and NUMA node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from numalet.agent.host.cgroup_v2 import numa_stat
from numalet.agent.host.cgroup_v2.numa_stat import NumaStat
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.core.enforcement import conversions
from numalet.core.enforcement.reality import FILE, MEMORY
from numalet.core.model import resources

_OWN: Final = ("anon", "shmem")
_FILES: Final = ("file",)


def pages(
    tree: CgroupTree, path: str, page_sizes: Iterable[int]
) -> Mapping[str, Mapping[int, int]]:
    """Bytes by kind of page and NUMA node, without zeros. Raises ``BadInput``."""
    stat = _numa_stat(tree, path, "memory.numa_stat")
    # The kernel includes shmem in "file"; it belongs to the program, so it moves to memory.
    shared = stat.get("shmem", {})
    files = {node: size - shared.get(node, 0) for node, size in _sum(stat, _FILES).items()}
    kinds: dict[str, Mapping[int, int]] = {MEMORY: _sum(stat, _OWN), FILE: files}
    for size in page_sizes:
        name = f"hugetlb.{conversions.hugetlb_name(size)}.numa_stat"
        huge = _numa_stat(tree, path, name).get("total", {})
        kinds[resources.hugepages_name(size // 1024)] = huge
    filled = {
        kind: {node: size for node, size in sorted(nodes.items()) if size > 0}
        for kind, nodes in kinds.items()
    }
    return {kind: nodes for kind, nodes in filled.items() if nodes}


def _sum(stat: Mapping[str, Mapping[int, int]], names: Iterable[str]) -> dict[int, int]:
    total: dict[int, int] = {}
    for name in names:
        for node, size in stat.get(name, {}).items():
            total[node] = total.get(node, 0) + size
    return total


def _numa_stat(tree: CgroupTree, path: str, name: str) -> NumaStat:
    """The hugetlb controller writes "total=SIZE" where others write the kind."""
    counts = numa_stat.read(tree.folder(path), name) or {}
    return {kind.partition("=")[0]: nodes for kind, nodes in counts.items()}
