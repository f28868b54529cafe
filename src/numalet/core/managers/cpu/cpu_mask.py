"""A set of CPUs as one integer: bit ``i`` stands for CPU ``i``.

Counting, intersecting and comparing are then single operations, and one assignment needs thousands.
Outside this package a set of CPUs is a ``CpuSet``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

from numalet.core.model.cpu_set import CpuSet

CpuMask: TypeAlias = int

EMPTY: CpuMask = 0


@lru_cache(maxsize=256)
def of_set(cpus: CpuSet) -> CpuMask:
    """Return the mask of a set, cached because callers repeat the same shared pool."""
    return of(cpus)


def of(cpus: Iterable[int]) -> CpuMask:
    mask = 0
    for cpu in cpus:
        mask |= 1 << cpu
    return mask


def ids(mask: CpuMask) -> list[int]:
    digits = bin(mask)[:1:-1]
    set_bits = []
    at = digits.find("1")
    while at >= 0:
        set_bits.append(at)
        at = digits.find("1", at + 1)
    return set_bits


def to_set(mask: CpuMask) -> CpuSet:
    return frozenset(ids(mask))
