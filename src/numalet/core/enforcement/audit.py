"""Compare a container's allocation with the kernel's report.

Only a container's own pages can be misplaced. File pages cannot: the kernel keeps one copy for all
processes, on the node of the first read. If the kernel allows a CPU or a NUMA node beyond the
allocation, another process wrote the cgroup's files, or a setting is not in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from numalet.core.enforcement.reality import FILE, Reality
from numalet.core.enforcement.settings import CgroupSettings
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value


class Audit(Value, kw_only=True):
    """The comparison for one container.

    ``pages_bytes`` are bytes by kind of page and NUMA node, ``misplaced_bytes`` those on nodes
    outside the allocation. ``memory_nodes`` are the allocation's nodes, possibly empty;
    ``stray_cpus`` and ``stray_nodes`` are those that the kernel allows beyond the allocation.
    """

    at: datetime
    pages_bytes: Mapping[str, Mapping[int, int]]
    memory_nodes: tuple[int, ...]
    misplaced_bytes: int
    stray_cpus: CpuSet
    stray_nodes: tuple[int, ...]

    @property
    def aligned(self) -> bool:
        return not (self.misplaced_bytes or self.stray_cpus or self.stray_nodes)


def audit(promised: CgroupSettings, observed: Reality, at: datetime) -> Audit:
    """Return the deviations; without an allocation nothing deviates.

    A container between two programs, or at its end, may have no process: then it has no CPU, no
    NUMA node and no deviation.
    """
    nodes = promised.memory_nodes or ()
    cpus = promised.cpus or cpu_set.EMPTY
    misplaced = sum(
        size_bytes
        for kind, by_node in observed.pages_bytes.items()
        for node_id, size_bytes in by_node.items()
        if nodes and kind != FILE and node_id not in nodes
    )
    return Audit(
        at=at,
        pages_bytes=observed.pages_bytes,
        memory_nodes=nodes,
        misplaced_bytes=misplaced,
        stray_cpus=observed.allowed_cpus - cpus if cpus else cpu_set.EMPTY,
        stray_nodes=tuple(n for n in observed.allowed_nodes if nodes and n not in nodes),
    )
