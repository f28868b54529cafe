"""Page size and task limit of the running kernel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from numalet.core.enforcement.limits import KernelLimits

SETTINGS: Final = Path("/proc/sys/kernel")
_TASKS: Final = ("pid_max", "threads-max")


def here(settings: Path = SETTINGS) -> KernelLimits:
    """Read the limits; ``tasks`` is the smaller of two sysctls.

    Kubelet v1.32: ``pidlimit.Stats``.
    """
    limits = [tasks for name in _TASKS if (tasks := _number(settings / name)) is not None]
    return KernelLimits(page_bytes=os.sysconf("SC_PAGE_SIZE"), tasks=min(limits, default=None))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
