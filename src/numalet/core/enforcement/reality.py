"""The kernel's report about a running container, unjudged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.enforcement.settings import CgroupSettings
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.value import Value

MEMORY: Final = "memory"
"""The programs' own pages: anonymous and shared memory."""
FILE: Final = "file"
"""Pages of files, which the kernel shares between all readers; see ``core.enforcement.audit``."""


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
