"""Packed assignment: the largest whole parts first, each time where the least is free.

    1. whole larger units, then whole smaller ones (NUMA nodes and sockets; which of them is the
       larger depends on the machine), as far as they fit into what is needed
    2. whole uncore caches, and a part of one (only if caches are preferred)
    3. whole cores (not if spread over cores)
    4. single CPUs, in the order of cores; if spread, in the order of sockets

In step 1 a node is whole if all its CPUs are free, a socket or core if as many are free as
sockets or cores have on average. Each step lists its parts once, at its beginning, and passes
over what is too large.
Kubelet: ``takeByTopologyNUMAPacked``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import islice
from typing import Final

from numalet.core.managers.cpu import cpu_mask, free_cpus, take_aligned
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.free_cpus import FreeCpus
from numalet.core.managers.cpu.reasons import TooFewCpus
from numalet.core.managers.cpu.topology import CpuTopology, TopologyPart


class Packing(Enum):
    """Which of the steps are done. The options exclude each other."""

    PLAIN = "plain"
    BY_UNCORE_CACHE = "by uncore cache"
    BY_UNCORE_CACHE_ODD_TOO = "by uncore cache, an odd number too"
    """With the rule ``odd_requests_drop_one_cpu`` of a release."""
    SPREAD_OVER_CORES = "spread over cores"


_BY_CACHE: Final = (Packing.BY_UNCORE_CACHE, Packing.BY_UNCORE_CACHE_ODD_TOO)


def take(
    topology: CpuTopology, available: CpuMask, count: int, packing: Packing = Packing.PLAIN
) -> CpuMask | TooFewCpus:
    """So many of the available CPUs."""
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
        if not taking.satisfied:
            step(taking)


def _take_whole_nodes(taking: FreeCpus) -> None:
    topology, free, need = taking.topology, taking.free, taking.need
    # Rarely is one whole and fits, and then they are put in order.
    if any(c & free == c and c.bit_count() <= need for _, c, _ in topology.nodes):
        listed = free_cpus.nodes(topology, free)
        _take_fitting(taking, [node for node in listed if node.cpus & free == node.cpus])


def _take_whole_sockets(taking: FreeCpus) -> None:
    topology, free, need = taking.topology, taking.free, taking.need
    size = topology.cpus_per_socket
    if size <= need and any((c & free).bit_count() == size for _, c, _ in topology.sockets):
        listed = free_cpus.sockets(topology, free)
        _take_fitting(taking, [part for part in listed if (part.cpus & free).bit_count() == size])


def _take_whole_cores(taking: FreeCpus) -> None:
    size = taking.topology.cpus_per_core
    if taking.need >= size:
        _take_fitting(taking, free_cpus.whole_cores(taking.topology, taking.free, size))


def _take_fitting(taking: FreeCpus, whole: Iterable[TopologyPart]) -> None:
    """Take all CPUs of each part that is not too large for what is still needed."""
    for _, cpus, _ in whole:
        if taking.need >= cpus.bit_count():
            taking.take(cpus)
            if taking.satisfied:
                return


def _take_single_cpus(taking: FreeCpus, packing: Packing) -> None:
    parts: Iterable[TopologyPart]
    if packing is Packing.SPREAD_OVER_CORES:
        parts = free_cpus.sockets(taking.topology, taking.free)
    else:
        parts = free_cpus.cores(taking.topology, taking.free)
    # It is the last step, so what is free or needed after it does not matter.
    taking.taken |= cpu_mask.of(islice(free_cpus.cpus_of(parts, taking.free), taking.need))
