"""The kernel's settings for one container and for one level of the cgroup tree, as values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value

NO_QUOTA: Final = -1
"""A quota that is wanted: none. What had one before loses it."""


class CgroupSettings(Value, kw_only=True):
    """What is written into one cgroup, or was read from it.

    Wanted, None and missing sizes mean: as it is, it stays. Read, None means: no limit, or no
    such file. ``cpus`` and ``memory_nodes`` are ``cpuset.cpus`` and ``cpuset.mems``; empty ones
    mean that the cgroup has no set of its own and inherits its parent's. ``cpu_quota_us`` per
    ``cpu_period_us`` is ``cpu.max``, where ``NO_QUOTA`` is the wish for none;
    ``hugetlb_max_bytes`` is by page size in bytes; ``oom_group`` is ``memory.oom.group``.
    """

    cpus: CpuSet | None = None
    memory_nodes: tuple[int, ...] | None = None
    memory_max_bytes: int | None = None
    memory_high_bytes: int | None = None
    memory_min_bytes: int | None = None
    swap_max_bytes: int | None = None
    hugetlb_max_bytes: Mapping[int, int] = MappingProxyType({})
    cpu_weight: int | None = None
    cpu_quota_us: int | None = None
    cpu_period_us: int = 100_000
    pids_max: int | None = None
    oom_group: bool | None = None


class ContainerSettings(Value, kw_only=True):
    """Everything that holds one container: its cgroup, and what its processes are given.

    ``path`` is the cgroup of the container below the root of all pods, such as
    ``burstable/podUID/NAME``.
    """

    path: str
    cgroup: CgroupSettings
    oom_score_adj: int = 0
