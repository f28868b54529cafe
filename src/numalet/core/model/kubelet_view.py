"""The kubelet's view of a machine, derived from the kernel's data.

This is the report of cAdvisor v0.52.1, part of the kubelet v1.32: nodes in the order of their
directory names, the CPUs of a node from its ``cpuM`` links only, a core as (package id, core id)
inside one node, the number of sockets from ``/proc/cpuinfo``.
"""

from __future__ import annotations

from collections.abc import Iterable

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine import Cache, Cpu, HugePagePool, Machine, NumaNode
from numalet.core.model.machine_info import (
    CoreInfo,
    HugePages,
    MachineInfo,
    NodeCache,
    NumaNodeInfo,
)
from numalet.core.model.value import Mutable, field

_KIB = 1024


def kubelet_view(machine: Machine) -> MachineInfo:
    """Return the kubelet's view of the machine. cAdvisor: ``machine.Info``, v0.52.1."""
    if machine.given_view is not None:
        return machine.given_view
    nodes = _numa_nodes(machine) if machine.nodes else _package_nodes(machine)
    if machine.nodes:
        cpu_count = sum(len(core.threads) for node in nodes for core in node.cores)
    else:
        # Without NUMA, cAdvisor counts every CPU directory, even of offline CPUs.
        cpu_count = len(machine.cpus)
    return MachineInfo(
        nodes=nodes,
        memory_capacity_bytes=_memory_capacity(machine),
        cpu_count=cpu_count,
        socket_count=machine.proc.package_id_count or _count_ids(machine, "package_id"),
        hugepages=_pages(machine.hugepages),
        physical_core_count=machine.proc.core_id_count or _count_ids(machine, "core_id"),
        os=machine.os,
    )


def by_name(numbers: Iterable[int]) -> list[int]:
    """Sort numbers by their texts, in directory order: 0, 1, 10, 11, 2."""
    return sorted(numbers, key=str)


def _numa_nodes(machine: Machine) -> tuple[NumaNodeInfo, ...]:
    """Return one entry per NUMA node. cAdvisor: ``sysinfo.GetNodesInfo``."""
    known = {cpu.cpu_id: cpu for cpu in machine.cpus}
    linked = any(node.linked_cpus - node.broken_links for node in machine.nodes)
    infos = []
    for node in machine.nodes:
        # A running kernel always has the links; if an archive lacks them, the CPU lists replace
        # them.
        cpus = node.linked_cpus - node.broken_links if linked else node.cpus
        cores = _cores(known[cpu_id] for cpu_id in by_name(cpus) if cpu_id in known)
        infos.append(_node_info(node, cores))
    return tuple(infos)


def _package_nodes(machine: Machine) -> tuple[NumaNodeInfo, ...]:
    """Return one entry per package, for a kernel without NUMA. cAdvisor: ``getCPUTopology``.

    cAdvisor iterates over a map here, in random order; numalet sorts.
    """
    packages = {cpu.package_id for cpu in machine.cpus if cpu.package_id is not None}
    listed = by_name(cpu.cpu_id for cpu in machine.cpus)
    known = {cpu.cpu_id: cpu for cpu in machine.cpus}
    infos = []
    for package_id in sorted(packages):
        members = (known[cpu_id] for cpu_id in listed if known[cpu_id].package_id == package_id)
        infos.append(_node_info(NumaNode(package_id), _cores(members)))
    return tuple(infos)


class _Core(Mutable):
    """A core under construction; ``speaker`` is the CPU whose caches represent the core's."""

    package_id: int
    core_id: int
    speaker: Cpu
    threads: list[int] = field(default_factory=list)
    uncore: Cache | None = None


def _cores(cpus: Iterable[Cpu]) -> list[_Core]:
    """Return the cores of one node. cAdvisor: ``getCoresInfo``."""
    cores: dict[tuple[int, int, str, str], _Core] = {}
    for cpu in cpus:
        # cAdvisor skips offline CPUs, and CPUs without core or package id.
        if not cpu.online or cpu.core_id is None or cpu.package_id is None:
            continue
        key = (cpu.package_id, cpu.core_id, cpu.book_id, cpu.drawer_id)
        core = cores.setdefault(key, _Core(cpu.package_id, cpu.core_id, cpu))
        core.threads.append(cpu.cpu_id)
    return list(cores.values())


def _node_info(node: NumaNode, cores: list[_Core]) -> NumaNodeInfo:
    caches = _place_caches(cores)
    return NumaNodeInfo(
        node_id=node.node_id,
        memory_bytes=node.memory_bytes or 0,
        hugepages=_pages(node.hugepages),
        cores=tuple(_core_info(core) for core in cores),
        distances=node.distances,
        caches=caches,
    )


def _core_info(core: _Core) -> CoreInfo:
    return CoreInfo(
        socket_id=core.package_id,
        core_id=core.core_id,
        threads=tuple(sorted(core.threads)),
        uncore_cache_id=None if core.uncore is None else core.uncore.cache_id,
        book_id=core.speaker.book_id,
        drawer_id=core.speaker.drawer_id,
    )


def _place_caches(cores: list[_Core]) -> tuple[NodeCache, ...]:
    """Return the caches that all cores of the node share. cAdvisor: ``addCacheInfo``.

    Only caches of level 3 and above are considered. A cache belongs to the node if its number of
    CPUs is the number of the node's cores times the threads of one core. Any other cache becomes
    the uncore cache of its core.
    """
    node_caches: dict[NodeCache, None] = {}
    for core in cores:
        caches = core.speaker.caches
        # As in cAdvisor, a cache with a missing file ends the search in this node.
        if not caches or any(_is_partial(cache) for cache in caches):
            break
        for cache in caches:
            if (cache.level or 0) <= 2:
                continue
            # The threads are those of the current core, so a machine with mixed cores gets uncore
            # caches.
            if cache.masked_cpu_count == len(cores) * len(core.threads):
                node_caches[_node_cache(cache)] = None
            elif core.uncore is None:
                core.uncore = cache
    return tuple(node_caches)


def _is_partial(cache: Cache) -> bool:
    """Return whether a file is missing that cAdvisor requires."""
    wanted = (cache.level, cache.cache_id, cache.size_bytes, cache.masked_cpu_count)
    return any(value is None for value in wanted) or cache.kind == ""


def _node_cache(cache: Cache) -> NodeCache:
    return NodeCache(cache.level or 0, cache.cache_id or 0, cache.size_bytes or 0)


def _memory_capacity(machine: Machine) -> int:
    """Return MemTotal of ``/proc/meminfo``; without that file, the sum of the nodes."""
    total_kib = (machine.proc.meminfo or {}).get("MemTotal")
    if total_kib is not None:
        return total_kib * _KIB
    return sum(node.memory_bytes or 0 for node in machine.nodes)


def _pages(pools: Iterable[HugePagePool]) -> tuple[HugePages, ...]:
    return tuple(HugePages(pool.page_size_kib, pool.count or 0) for pool in pools)


def _count_ids(machine: Machine, what: str) -> int:
    """Count the distinct (id, package id) of online CPUs; a missing id is 0.

    cAdvisor reads ``/sys`` if ``/proc/cpuinfo`` has no such id (``GetUniqueCPUPropertyCount``).
    """
    return len(
        {(getattr(cpu, what) or 0, cpu.package_id or 0) for cpu in machine.cpus if cpu.online}
    )


def machine_of_view(info: MachineInfo, source: str) -> Machine:
    """Return a machine whose kubelet view is ``info``, and keep ``info`` in it."""
    cpus: dict[int, Cpu] = {}
    sharing = _members(info, "uncore_cache_id")
    packages = _members(info, "socket_id")
    for node in info.nodes:
        for core in node.cores:
            caches = _given_caches(core, sharing)
            for thread in core.threads:
                cpus[thread] = Cpu(
                    cpu_id=thread,
                    package_id=core.socket_id,
                    core_id=core.core_id,
                    book_id=core.book_id,
                    drawer_id=core.drawer_id,
                    thread_siblings=frozenset(core.threads),
                    package_siblings=packages[core.socket_id],
                    caches=caches,
                )
    return Machine(
        nodes=tuple(_given_node(node) for node in info.nodes),
        cpus=tuple(cpus[cpu_id] for cpu_id in sorted(cpus)),
        hugepages=tuple(HugePagePool(page.page_size_kib, page.count) for page in info.hugepages),
        os=info.os,
        source=source,
        given_view=info,
    )


def _given_node(node: NumaNodeInfo) -> NumaNode:
    cpus = frozenset(thread for core in node.cores for thread in core.threads)
    return NumaNode(
        node_id=node.node_id,
        memory_bytes=node.memory_bytes,
        cpus=cpus,
        linked_cpus=cpus,
        hugepages=tuple(HugePagePool(page.page_size_kib, page.count) for page in node.hugepages),
        distances=node.distances,
    )


def _given_caches(core: CoreInfo, sharing: dict[int, CpuSet]) -> tuple[Cache, ...]:
    if core.uncore_cache_id is None:
        return ()
    cpus = sharing[core.uncore_cache_id]
    return (Cache(3, "Unified", core.uncore_cache_id, cpus=cpus, masked_cpu_count=len(cpus)),)


def _members(info: MachineInfo, what: str) -> dict[int, CpuSet]:
    members: dict[int, set[int]] = {}
    for node in info.nodes:
        for core in node.cores:
            members.setdefault(getattr(core, what), set()).update(core.threads)
    return {key: frozenset(cpus) for key, cpus in members.items()}
