"""The difference between desired and observed settings of a cgroup.

Desired fields without a value are not compared. Settings have the names of the kernel's files.
"""

from __future__ import annotations

from typing import Final

from numalet.core.enforcement import conversions
from numalet.core.enforcement.settings import NO_QUOTA, CgroupSettings

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


def hugetlb_max(page_bytes: int) -> str:
    """Return the name of the limit of huge pages of a size."""
    return f"hugetlb.{conversions.hugetlb_name(page_bytes)}.max"


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
