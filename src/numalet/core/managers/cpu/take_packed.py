"""Packed assignment: the largest whole parts first, in each step from the fullest part.

    1. whole larger units, then whole smaller ones (NUMA nodes and sockets; which of them is the
       larger depends on the machine), as far as they fit the need
    2. whole uncore caches, and a part of one (only if caches are preferred)
    3. whole cores (not if spread over cores)
    4. single CPUs, in the order of cores; if spread, in the order of sockets

In step 1 a node is whole if all its CPUs are free. A socket or core is whole if it has as many free
CPUs as the average socket or core has CPUs. Each step lists its parts once, at its beginning, and
skips parts that are too large.

Kubelet: ``takeByTopologyNUMAPacked``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from numalet.core.managers.cpu import cpu_mask, free_cpus, take_aligned
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.free_cpus import FreeCpus
from numalet.core.managers.cpu.reasons import TooFewCpus
from numalet.core.managers.cpu.topology import CpuTopology


class Packing(Enum):
    """The optional steps. The options exclude each other."""

    PLAIN = "plain"
    BY_UNCORE_CACHE = "by uncore cache"
    BY_UNCORE_CACHE_ODD_TOO = "by uncore cache, an odd number too"
    """With the rule ``odd_requests_drop_one_cpu`` of a release."""
    SPREAD_OVER_CORES = "spread over cores"


_BY_CACHE: Final = (Packing.BY_UNCORE_CACHE, Packing.BY_UNCORE_CACHE_ODD_TOO)


def take(
    topology: CpuTopology, available: CpuMask, count: int, packing: Packing = Packing.PLAIN
) -> CpuMask | TooFewCpus:
    taking = FreeCpus(topology, available & topology.cpus, count)
    if taking.satisfied:
        return cpu_mask.EMPTY
    if count > taking.free.bit_count():
        return TooFewCpus(count, available.bit_count())
    _take_whole_units(taking)
    if packing in _BY_CACHE and not taking.satisfied:
        odd_too = packing is Packing.BY_UNCORE_CACHE_ODD_TOO
        take_aligned.take_uncore_caches(taking, odd_too)
    if packing is not Packing.SPREAD_OVER_CORES and not taking.satisfied:
        _take_whole_cores(taking)
    if not taking.satisfied:
        _take_single_cpus(taking, packing)
    return taking.taken


def _take_whole_units(taking: FreeCpus) -> None:
    steps = (_take_whole_nodes, _take_whole_sockets)
    for step in steps if taking.topology.numa_first else reversed(steps):
        # Usually even the smallest unit is too large: skip the sorting.
        if taking.need >= taking.topology.smallest_unit and not taking.satisfied:
            step(taking)


def _take_whole_nodes(taking: FreeCpus) -> None:
    free = taking.free
    listed = free_cpus.nodes(taking.topology, free)
    _take_fitting(taking, [node.cpus for node in listed if node.cpus & free == node.cpus], 1)


def _take_whole_sockets(taking: FreeCpus) -> None:
    free, size = taking.free, taking.topology.cpus_per_socket
    listed = free_cpus.sockets(taking.topology, free)
    whole = [part.cpus for part in listed if (part.cpus & free).bit_count() == size]
    _take_fitting(taking, whole, size)


def _take_whole_cores(taking: FreeCpus) -> None:
    size = taking.topology.cpus_per_core
    if taking.need >= size:
        _take_fitting(taking, free_cpus.whole_cores(taking.topology, taking.free, size), size)


def _take_fitting(taking: FreeCpus, whole: Iterable[CpuMask], size: int) -> None:
    """Take all CPUs of each part that fits; every part has at least ``size`` CPUs."""
    for cpus in whole:
        if taking.need >= cpus.bit_count():
            taking.take(cpus)
            if taking.need < size:
                return


def _take_single_cpus(taking: FreeCpus, packing: Packing) -> None:
    parts: Iterable[CpuMask]
    if packing is Packing.SPREAD_OVER_CORES:
        parts = [each.cpus for each in free_cpus.sockets(taking.topology, taking.free)]
    else:
        parts = free_cpus.cores(taking.topology, taking.free)
    # The last step: no caller reads ``taking.free`` afterwards, so do not update it.
    for cpus in parts:
        left = cpus & taking.free
        while left:
            if taking.satisfied:
                return
            taking.taken |= left & -left
            taking.need -= 1
            left &= left - 1
