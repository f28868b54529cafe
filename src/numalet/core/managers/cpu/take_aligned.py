"""Options of the assignment: the CPUs of an affinity, and whole uncore caches.

Kubelet: ``staticPolicy.getAlignedCPUs``, ``cpuAccumulator.takeUncoreCache``, v1.32.
"""

from __future__ import annotations

from enum import Enum

from numalet.core.managers.cpu import cpu_mask, free_cpus
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.free_cpus import FreeCpus
from numalet.core.managers.cpu.topology import CpuTopology, TopologyPart
from numalet.core.model.numa_mask import NumaMask


class Reach(Enum):
    """Which CPUs belong to an affinity to NUMA nodes."""

    NODES = "nodes"
    SOCKETS = "sockets"
    """align-by-socket: all CPUs of every socket that has one of the nodes."""


def cpus_of_affinity(topology: CpuTopology, affinity: NumaMask, reach: Reach) -> CpuMask:
    """Return all CPUs of these NUMA nodes, or of their sockets."""
    chosen = [node for node in topology.nodes if affinity >> node.part_id & 1]
    if reach is Reach.SOCKETS:
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
    usable = [core for core in cores if core.here & taking.free]
    cpus = cpu_mask.EMPTY
    for core in usable[:wanted]:
        cpus |= core.cpus & taking.free
    if odd_too and is_odd and per_core > 1 and cpus.bit_count() > taking.need:
        cpus ^= 1 << (cpus.bit_length() - 1)
    if cpus.bit_count() == taking.need:
        taking.take(cpus)
