"""How strongly a container is held to what it was promised."""

from __future__ import annotations

from enum import Enum


class GuaranteeLevel(Enum):
    """From strong to weak."""

    KERNEL = "kernel"
    """cgroup v2: the kernel holds every process of the container to its CPUs, NUMA nodes and
    limits, whatever they do."""
    PROCESS = "process"
    """CPU affinity and memory policy set before the program began, and inherited by what it
    starts. A program can undo them, and sizes are not limited."""
    NONE = "none"
    """The container's resources are recorded and not enforced."""
