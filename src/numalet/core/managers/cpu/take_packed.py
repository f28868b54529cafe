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

from numalet.core.managers.cpu import cpu_mask, free_cpus
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.free_cpus import FreeCpus
from numalet.core.managers.cpu.reasons import TooFewCpus
from numalet.core.managers.cpu.topology import CpuTopology, TopologyPart
from numalet.core.model.numa_mask import NumaMask

# The CPUs of an affinity, and whole uncore caches. Kubelet: ``staticPolicy.getAlignedCPUs``,
# ``cpuAccumulator.takeUncoreCache``, v1.32.


class Reach(Enum):
    """Which CPUs belong to an affinity to NUMA nodes."""

    NODES = "nodes"
    SOCKETS = "sockets"
    """align-by-socket: all CPUs of every socket that has one of the nodes."""


def cpus_of_affinity(topology: CpuTopology, affinity: NumaMask, reach: Reach) -> CpuMask:
    """Return all CPUs of these NUMA nodes, or of their sockets."""
    chosen = [node for node in topology.nodes if affinity >> node.part_id & 1]
    if reach is Reach.SOCKETS:
        # The whole socket belongs to the affinity then, also its CPUs on NUMA nodes outside of it.
        chosen = [socket for node in chosen for socket in topology.sockets_of_node[node.part_id]]
    cpus = cpu_mask.EMPTY
    for part in chosen:
        cpus |= part.cpus
    return cpus


def take_uncore_caches(taking: FreeCpus, odd_too: bool) -> None:
    """Take whole caches, then part of one cache if it has exactly the CPUs still needed.

    ``odd_too`` is the rule ``odd_requests_drop_one_cpu`` of a release.
    """
    # As in the kubelet, this list is made once, but the whole caches are determined again for
    # each.
    for uncore in free_cpus.uncores(taking.topology, taking.free):
        if taking.need >= taking.topology.cpus_per_uncore:
            _take_whole_caches(taking)
        if not taking.satisfied:
            _take_part(taking, uncore, odd_too)
        if taking.satisfied:
            return


def _take_whole_caches(taking: FreeCpus) -> None:
    free = taking.free
    listed = free_cpus.uncores(taking.topology, free)
    for uncore in [part for part in listed if part.cpus & free == part.cpus]:
        if taking.need >= uncore.cpus.bit_count():
            taking.take(uncore.cpus)


def _take_part(taking: FreeCpus, uncore: TopologyPart, odd_too: bool) -> None:
    """Take the free CPUs of the cache's lowest cores if their number matches the need exactly."""
    per_core, is_odd = taking.topology.cpus_per_core, taking.need % 2 == 1
    # Rounded down, an odd need never matches on cores with two threads. Rounded up, one CPU is
    # too many, and the highest one stays free; never more than one, so a need of 5 CPUs does not
    # match on cores with four threads.
    wanted = -(-taking.need // per_core) if odd_too else taking.need // per_core
    cores = taking.topology.cores_of_uncore[uncore.part_id]
    # A core with only one free thread is listed too, so the cores chosen below may have fewer CPUs
    # than needed; then the part is not taken at all.
    usable = [core for core in cores if core.here & taking.free]
    cpus = cpu_mask.EMPTY
    for core in usable[:wanted]:
        cpus |= core.cpus & taking.free
    if odd_too and is_odd and per_core > 1 and cpus.bit_count() > taking.need:
        cpus ^= 1 << (cpus.bit_length() - 1)
    if cpus.bit_count() == taking.need:
        taking.take(cpus)


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
        take_uncore_caches(taking, odd_too)
    if packing is not Packing.SPREAD_OVER_CORES and not taking.satisfied:
        _take_whole_cores(taking)
    if not taking.satisfied:
        _take_single_cpus(taking, packing)
    return taking.taken


def _take_whole_units(taking: FreeCpus) -> None:
    steps = (_take_whole_nodes, _take_whole_sockets)
    # The larger unit first, so that a request for a whole socket is not met with NUMA nodes of two
    # sockets.
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
    # ``size`` is an average. If a socket is larger, this test holds while some of its CPUs are in
    # use, and the kubelet then takes all of them, used ones included.
    whole = [part.cpus for part in listed if (part.cpus & free).bit_count() == size]
    _take_fitting(taking, whole, size)


def _take_whole_cores(taking: FreeCpus) -> None:
    size = taking.topology.cpus_per_core
    if taking.need >= size:
        # The cores come from a generator: on a large machine few of them are needed.
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
