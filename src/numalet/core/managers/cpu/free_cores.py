"""The number of free CPUs of each core, for all cores of a machine at once.

A set of cores is a mask of core ids. Shifted down by an offset of a layout, the mask of free CPUs
has a bit at the id of each core whose CPU at that offset is free. Example: two threads per core,
CPUs ``i`` and ``i + 4``; CPUs 0 to 2, 4 and 6 are free:

    free CPUs             01010111
    first threads             0111
    second threads            0101      cores 0 and 2 have both free, core 1 has one
"""

from __future__ import annotations

from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.topology import CpuTopology


def by_count(topology: CpuTopology, free: CpuMask) -> list[CpuMask]:
    """Return the cores with exactly 1, 2, ... free CPUs, up to the largest core."""
    counted: list[CpuMask] = []
    for core_ids, offsets in topology.core_layouts:
        # at_least[n]: cores with n or more free CPUs among the offsets so far. Updated from the
        # highest n down, so that one CPU raises a core by one only.
        at_least = [core_ids]
        for offset in offsets:
            more = free >> offset
            at_least.append(at_least[-1] & more)
            for count in range(len(at_least) - 2, 0, -1):
                at_least[count] |= at_least[count - 1] & more
        counted += [cpu_mask.EMPTY] * (len(offsets) - len(counted))
        more = cpu_mask.EMPTY
        for count in range(len(offsets), 0, -1):
            counted[count - 1] |= at_least[count] & ~more
            more = at_least[count]
    return counted


def with_count(topology: CpuTopology, free: CpuMask, count: int) -> CpuMask:
    """Return the cores with exactly ``count`` free CPUs; ``count`` is not 0."""
    if topology.largest_core_size > count > 0:
        return by_count(topology, free)[count - 1]
    # Only cores of the largest size can match, with all CPUs free: an AND over the offsets.
    cores = cpu_mask.EMPTY
    for core_ids, offsets in topology.core_layouts:
        if len(offsets) == count:
            whole = core_ids
            for offset in offsets:
                whole &= free >> offset
            cores |= whole
    return cores


def touched(topology: CpuTopology, cpus: CpuMask) -> CpuMask:
    cores = cpu_mask.EMPTY
    for core_ids, offsets in topology.core_layouts:
        for offset in offsets:
            cores |= core_ids & cpus >> offset
    return cores
