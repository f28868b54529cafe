"""The kernel's settings for one container and for one level of the cgroup tree, as values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value

NO_QUOTA: Final = -1
"""Desired quota: unlimited. Removes an existing one."""


class CgroupSettings(Value, kw_only=True):
    """The settings to write into one cgroup, or read from it.

    Desired: None and missing sizes leave the setting unchanged. Observed: None is unlimited, or a
    missing file. ``cpus`` and ``memory_nodes`` are ``cpuset.cpus`` and ``cpuset.mems``; if empty,
    the cgroup inherits its parent's set. ``cpu_quota_us`` per ``cpu_period_us`` is ``cpu.max``,
    with ``NO_QUOTA`` for unlimited; ``hugetlb_max_bytes`` is by page size in bytes; ``oom_group``
    is ``memory.oom.group``.
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
    """All settings of one container: its cgroup, and those of its processes.

    ``path`` is the cgroup of the container below the root of all pods, such as
    ``burstable/podUID/NAME``.
    """

    path: str
    cgroup: CgroupSettings
    oom_score_adj: int = 0
