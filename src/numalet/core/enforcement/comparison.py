"""The kernel's report on a container, its differences from the settings, and the audit.

Desired fields without a value are not compared. Settings have the names of the kernel's files. The
audit compares the allocation: only a container's own pages can be misplaced. File pages cannot: the
kernel keeps one copy for all processes, on the node of the first read. If the kernel allows a CPU
or a NUMA node beyond the allocation, another process wrote the cgroup's files, or a setting is not
in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Final

from numalet.core.enforcement import cgroup_settings
from numalet.core.enforcement.cgroup_settings import NO_QUOTA, CgroupSettings
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value

MEMORY: Final = "memory"
"""The programs' own pages: anonymous and shared memory."""
FILE: Final = "file"
"""Pages of files, which the kernel shares between all readers."""

CPUS: Final = "cpuset.cpus"
MEMS: Final = "cpuset.mems"
MEMORY_MAX: Final = "memory.max"
MEMORY_HIGH: Final = "memory.high"
MEMORY_MIN: Final = "memory.min"
SWAP_MAX: Final = "memory.swap.max"
OOM_GROUP: Final = "memory.oom.group"
CPU_WEIGHT: Final = "cpu.weight"
CPU_MAX: Final = "cpu.max"
PIDS_MAX: Final = "pids.max"

_UNLIMITED: Final = (NO_QUOTA, 0)
"""Without a quota the period has no effect."""


class Reality(Value, kw_only=True):
    """The kernel's report about a running container.

    ``pages_bytes`` are bytes by NUMA node over all processes of the container, by kind (``memory``,
    ``file``, or ``hugepages-2Mi``). ``allowed_cpus`` and ``allowed_nodes`` are the union over its
    processes. ``cgroup`` has the settings of its cgroup, if any.
    """

    pages_bytes: Mapping[str, Mapping[int, int]]
    allowed_cpus: CpuSet
    allowed_nodes: tuple[int, ...]
    cgroup: CgroupSettings | None
    processes: int


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


class GuaranteeLevel(Enum):
    """From strong to weak."""

    KERNEL = "kernel"
    """cgroup v2: the kernel enforces CPUs, NUMA nodes and limits for every process."""
    PROCESS = "process"
    """CPU affinity and memory policy, set before the program starts and inherited by its
    children. A program can undo them, and sizes are unlimited."""
    NONE = "none"
    """The container's resources are recorded but not enforced."""


def hugetlb_max(page_bytes: int) -> str:
    """Return the name of the limit of huge pages of a size."""
    return f"hugetlb.{cgroup_settings.hugetlb_name(page_bytes)}.max"


def differences(wanted: CgroupSettings, seen: CgroupSettings) -> tuple[str, ...]:
    """Return the names of the settings that differ, sets first.

    A desired limit without an observed one is a difference.
    """
    pairs = (
        (CPUS, wanted.cpus, seen.cpus),
        (MEMS, wanted.memory_nodes, seen.memory_nodes),
        (MEMORY_MAX, wanted.memory_max_bytes, seen.memory_max_bytes),
        (MEMORY_HIGH, wanted.memory_high_bytes, seen.memory_high_bytes),
        (MEMORY_MIN, wanted.memory_min_bytes, seen.memory_min_bytes),
        (SWAP_MAX, wanted.swap_max_bytes, seen.swap_max_bytes),
        (OOM_GROUP, wanted.oom_group, seen.oom_group),
        (CPU_WEIGHT, wanted.cpu_weight, seen.cpu_weight),
        (CPU_MAX, _cpu_max(wanted), _cpu_max(seen) or _UNLIMITED),
        (PIDS_MAX, wanted.pids_max, seen.pids_max),
        *(
            (hugetlb_max(size), limit, seen.hugetlb_max_bytes.get(size))
            for size, limit in sorted(wanted.hugetlb_max_bytes.items())
        ),
    )
    return tuple(name for name, value, actual in pairs if value is not None and value != actual)


def _cpu_max(settings: CgroupSettings) -> tuple[int, int] | None:
    if settings.cpu_quota_us is None:
        return None
    if settings.cpu_quota_us == NO_QUOTA:
        return _UNLIMITED
    return settings.cpu_quota_us, settings.cpu_period_us
