"""The strength of a container's guarantee."""

from __future__ import annotations

from enum import Enum


class GuaranteeLevel(Enum):
    """From strong to weak."""

    KERNEL = "kernel"
    """cgroup v2: the kernel enforces CPUs, NUMA nodes and limits for every process."""
    PROCESS = "process"
    """CPU affinity and memory policy, set before the program starts and inherited by its
    children. A program can undo them, and sizes are unlimited."""
    NONE = "none"
    """The container's resources are recorded but not enforced."""
