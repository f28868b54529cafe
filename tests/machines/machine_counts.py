"""Figures of machines as ``lscpu`` and ``numactl --hardware`` give them."""

from __future__ import annotations

from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine import Cache, Machine
from numalet.core.model.machine_queries import placed_cpus

_UNSET_CLUSTER = 65535


def die_count(machine: Machine) -> int | None:
    """How many dies there are; None where the kernel does not say or says -1."""
    dies = {(cpu.package_id, cpu.die_id) for cpu in placed_cpus(machine) if cpu.die_id is not None}
    if any(die_id < 0 for _, die_id in dies):
        return None
    return len(dies) or None


def cluster_count(machine: Machine) -> int | None:
    """How many clusters of cores there are; None where the kernel does not say."""
    clusters = {
        (cpu.package_id, cpu.cluster_id)
        for cpu in placed_cpus(machine)
        if cpu.cluster_id is not None
    }
    if any(cluster_id < 0 or cluster_id == _UNSET_CLUSTER for _, cluster_id in clusters):
        return None
    return len(clusters) or None


def cache_groups(machine: Machine) -> dict[str, tuple[CpuSet, ...]]:
    """The online CPUs that share each cache, by the cache's name (L1d, L1i, L2, L3)."""
    online = machine.online_cpus
    groups: dict[str, list[CpuSet]] = {}
    for cpu in placed_cpus(machine):
        for cache in cpu.caches:
            alone = frozenset((cpu.cpu_id,))
            shared = alone if cache.cpus is None else cache.cpus & online
            groups.setdefault(cache_name(cache), []).append(shared)
    return {name: tuple(sorted({*groups[name]}, key=sorted)) for name in sorted(groups)}


def online_node_ids(machine: Machine) -> tuple[int, ...]:
    """Ids of the nodes that the kernel calls online; without its list, of all nodes."""
    listed = machine.node_files.get("online")
    if listed is None:
        return machine.node_ids
    try:
        return tuple(sorted(cpu_set.parse(listed.strip("\0\n\t "))))
    except cpu_set.CpuListError:
        return machine.node_ids


def cache_name(cache: Cache) -> str:
    """The short name of a cache: L1d, L1i, L2."""
    letter = {"Data": "d", "Instruction": "i"}.get(cache.kind, "")
    return f"L{cache.level}{letter}"
