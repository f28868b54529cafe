"""Reads the settings of a cgroup."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.core.enforcement import drift
from numalet.core.enforcement.settings import CgroupSettings
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet

EFFECTIVE: Final = ".effective"
UNLIMITED: Final = "max"


def settings(tree: CgroupTree, path: str, page_sizes: Iterable[int]) -> CgroupSettings:
    """Read the settings. A missing file is a missing setting. Raises ``OSError``."""
    cpu_max = (tree.read(path, drift.CPU_MAX) or UNLIMITED).split()
    pages = {size: _number(tree.read(path, drift.hugetlb_max(size))) for size in page_sizes}
    group = _number(tree.read(path, drift.OOM_GROUP))
    mems = _set(tree.read(path, drift.MEMS))
    return CgroupSettings(
        cpus=_set(tree.read(path, drift.CPUS)),
        memory_nodes=None if mems is None else tuple(sorted(mems)),
        memory_max_bytes=_number(tree.read(path, drift.MEMORY_MAX)),
        memory_high_bytes=_number(tree.read(path, drift.MEMORY_HIGH)),
        memory_min_bytes=_number(tree.read(path, drift.MEMORY_MIN)),
        swap_max_bytes=_number(tree.read(path, drift.SWAP_MAX)),
        hugetlb_max_bytes=MappingProxyType(
            {size: limit for size, limit in pages.items() if limit is not None}
        ),
        cpu_weight=_number(tree.read(path, drift.CPU_WEIGHT)),
        cpu_quota_us=_number(cpu_max[0]),
        cpu_period_us=int(cpu_max[1]) if len(cpu_max) > 1 else CgroupSettings().cpu_period_us,
        pids_max=_number(tree.read(path, drift.PIDS_MAX)),
        oom_group=None if group is None else bool(group),
    )


def effective(tree: CgroupTree, path: str, file: str) -> CpuSet:
    return _set(tree.read(path, file + EFFECTIVE)) or cpu_set.EMPTY


def _set(text: str | None) -> CpuSet | None:
    return None if text is None else cpu_set.parse(text)


def _number(text: str | None) -> int | None:
    return None if text is None or text == UNLIMITED else int(text)
