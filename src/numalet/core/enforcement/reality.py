"""What the kernel reports of a running container, without any judgement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.enforcement.settings import CgroupSettings
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value

MEMORY: Final = "memory"
"""Pages of the programs' own: anonymous ones and shared memory."""
FILE: Final = "file"
"""Pages of files, which the kernel shares between all who read them; see ``audit``."""


class Reality(Value, kw_only=True):
    """What the kernel reports of a running container.

    ``pages_bytes`` are bytes by NUMA node over all processes of the container, by kind (``memory``,
    ``file``, or ``hugepages-2Mi``). ``allowed_cpus`` and ``allowed_nodes`` are what the kernel
    allows all of them together. ``cgroup`` is the settings of its cgroup, None without one.
    """

    pages_bytes: Mapping[str, Mapping[int, int]]
    allowed_cpus: CpuSet
    allowed_nodes: tuple[int, ...]
    cgroup: CgroupSettings | None
    processes: int
