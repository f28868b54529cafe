"""What a process has cost so far, as the kernel counts it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")


def most_memory_bytes(pid: int) -> int:
    """The largest part of it that was in memory so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def cpu_seconds(pid: int) -> float:
    """CPU time that it has used; without that of processes that it started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND
