"""What a container was promised against what the kernel says it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from numalet.model.cpu_set import CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One look at one container.

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
