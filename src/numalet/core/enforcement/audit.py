"""What a container was promised against what the kernel reports.

Only pages of the container's own are misplaced when they are on other NUMA nodes. Pages of files
(programs, libraries, data that is read) are not: the kernel keeps one copy for everybody, on the
node where it was first read, maybe before the container began. They are shown and not judged.

Where a CPU or a NUMA node is allowed beyond the promise, something else wrote there, or a setting
is not in force; no page needs to have gone astray yet.
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
    that were not promised. ``memory_nodes`` is the promise, empty if there is none; ``stray_cpus``
    are CPUs that the kernel allows beyond the promised ones, ``stray_nodes`` likewise.
    """

    at: datetime
    pages_bytes: Mapping[str, Mapping[int, int]]
    memory_nodes: tuple[int, ...]
    misplaced_bytes: int
    stray_cpus: CpuSet
    stray_nodes: tuple[int, ...]

    @property
    def aligned(self) -> bool:
        """Whether everything is where it was promised."""
        return not (self.misplaced_bytes or self.stray_cpus or self.stray_nodes)


def audit(promised: CgroupSettings, observed: Reality, at: datetime) -> Audit:
    """What is not as promised. Where nothing was promised, nothing strays.

    A container between two programs, or at its end, may have no process: then it has no CPU and
    no NUMA node, and nothing that strays.
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
