"""The kernel's settings for a container and for a level of the cgroup tree, and their formulas.

Integers with the kubelet's rounding. Sizes are rounded down to whole pages, like in the kernel, so
that the value read back equals the value written. Kubelet v1.32: ``cm.MilliCPUToShares``,
``MilliCPUToQuota``, ``getCPUWeight``, ``qos.GetContainerOOMScoreAdjust``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.value import Value

NO_QUOTA: Final = -1
"""Desired quota: unlimited. Removes an existing one."""

MIN_SHARES: Final = 2
MAX_SHARES: Final = 262_144
MIN_QUOTA_US: Final = 1000
PERIOD_US: Final = 100_000

_SHARES_PER_CPU: Final = 1024
_MAX_WEIGHT: Final = 10_000

GUARANTEED_OOM_SCORE_ADJ: Final = -997
BEST_EFFORT_OOM_SCORE_ADJ: Final = 1000
NODE_CRITICAL: Final = "system-node-critical"

_KIB: Final = 1 << 10
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30


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


def cpu_shares(request_milli: int) -> int:
    """Return CPU shares of cgroup v1, 2 to 262144, for a request in milli-CPUs."""
    return min(max(request_milli * _SHARES_PER_CPU // 1000, MIN_SHARES), MAX_SHARES)


def cpu_weight(shares: int) -> int:
    """Return ``cpu.weight`` of cgroup v2 for CPU shares: 1 for 2, 10000 for 262144 and more."""
    if shares >= MAX_SHARES:
        return _MAX_WEIGHT
    return 1 + (max(shares, MIN_SHARES) - MIN_SHARES) * (_MAX_WEIGHT - 1) // (
        MAX_SHARES - MIN_SHARES
    )


def weight_of_request(request_milli: int) -> int:
    """Return ``cpu.weight``, 1 to 10000, for a request in milli-CPUs."""
    return cpu_weight(cpu_shares(request_milli))


def cpu_quota_us(limit_milli: int, period_us: int = PERIOD_US) -> int | None:
    """Return microseconds of CPU per period, if there is a limit."""
    if limit_milli <= 0:
        return None
    return max(limit_milli * period_us // 1000, MIN_QUOTA_US)


def whole_pages(size_bytes: int, page_bytes: int) -> int:
    return size_bytes // page_bytes * page_bytes


def hugetlb_name(page_bytes: int) -> str:
    """Return the page size in hugetlb file names: ``2MB``, ``1GB``, ``64KB``."""
    if page_bytes >= _GIB:
        return f"{page_bytes // _GIB}GB"
    if page_bytes >= _MIB:
        return f"{page_bytes // _MIB}MB"
    return f"{page_bytes // _KIB}KB"


def oom_score_adj(
    pod: Pod, container: Container, capacity_bytes: int, priority_class: str = ""
) -> int:
    """Return the kernel's preference for killing the container when memory runs out.

    Between 3 and 999 for Burstable pods: the larger the request's share of the machine's memory,
    the lower. A sidecar's score is at most that of the smallest app container.
    """
    if priority_class == NODE_CRITICAL or pod.qos_class is QosClass.GUARANTEED:
        return GUARANTEED_OOM_SCORE_ADJ
    if pod.qos_class is QosClass.BEST_EFFORT:
        return BEST_EFFORT_OOM_SCORE_ADJ
    score = 1000 - 1000 * _memory_request(container) // capacity_bytes
    if container.kind is ContainerKind.SIDECAR:
        least = min(map(_memory_request, pod.app_containers), default=0)
        score = min(score, 1000 - 1000 * least // capacity_bytes)
    return min(max(score, 1000 + GUARANTEED_OOM_SCORE_ADJ), BEST_EFFORT_OOM_SCORE_ADJ - 1)


def memory_high_bytes(
    request_bytes: int, ceiling_bytes: int, factor_thousandths: int, page_bytes: int
) -> int | None:
    """Return where throttling begins between the request and the ceiling, if anywhere.

    ``ceiling_bytes`` is the limit, or the node's allocatable memory. Kubelet: MemoryQoS, v1.32.
    """
    room = (ceiling_bytes - request_bytes) * factor_thousandths // 1000
    high = whole_pages(request_bytes + room, page_bytes)
    return high if high > request_bytes else None


def all_have(containers: Sequence[Container], resource: str) -> bool:
    return all(
        resource in container.limits and container.limits[resource].sign > 0
        for container in containers
    )


def _memory_request(container: Container) -> int:
    quantity = container.requests.get("memory")
    return 0 if quantity is None else quantity.value
