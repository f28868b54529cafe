"""CpuLedger: the shared pool and the exclusive CPUs of containers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numalet.model.cpu_set import CpuSet


@dataclass(frozen=True, slots=True)
class CpuLedger:
    """Everything that the CPU Manager remembers: CPU ids by pod uid and container."""

    default: CpuSet = frozenset()
    exclusive: Mapping[str, Mapping[str, CpuSet]] = field(default_factory=dict)


EMPTY_LEDGER = CpuLedger()
