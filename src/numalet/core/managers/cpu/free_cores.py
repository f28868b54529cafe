"""How many CPUs of each core are free, of all cores of a machine at once.

A set of cores is a mask of their ids. Shifted down by an offset of a layout, the free CPUs have a
bit at the id of each core whose CPU at that offset is free. With two threads per core, CPU
``i + 4`` beside CPU ``i``, of which 0 to 2, 4 and 6 are free:

    free CPUs             01010111
    first threads             0111
    second threads            0101      both are free of cores 0 and 2, one of core 1
"""

from __future__ import annotations

from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.topology import CpuTopology


def by_count(topology: CpuTopology, free: CpuMask) -> list[CpuMask]:
    """The cores of which 1, 2, ... CPUs are free, up to the largest core."""
    counted: list[CpuMask] = []
    for core_ids, offsets in topology.core_layouts:
        # By number: the cores of which so many CPUs are free, of those seen so far.
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
    """The cores of which so many CPUs are free, and not none."""
    if topology.largest_core_size > count > 0:
        return by_count(topology, free)[count - 1]
    # No core is larger, so that all its CPUs are free, which is quicker to see.
    cores = cpu_mask.EMPTY
    for core_ids, offsets in topology.core_layouts:
        if len(offsets) == count:
            whole = core_ids
            for offset in offsets:
                whole &= free >> offset
            cores |= whole
    return cores


def touched(topology: CpuTopology, cpus: CpuMask) -> CpuMask:
    """The cores that have some of these CPUs."""
    cores = cpu_mask.EMPTY
    for core_ids, offsets in topology.core_layouts:
        for offset in offsets:
            cores |= core_ids & cpus >> offset
    return cores
