"""Reads ``sys/devices/system/cpu``: which CPUs exist, which are online, and their topology."""

from __future__ import annotations

from typing import Final

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine import Cpu
from numalet.core.model.value import replace
from numalet.io.sysfs import caches, kernel_text
from numalet.io.sysfs.records import TreeSource

CPU_DIR: Final = "sys/devices/system/cpu"
LISTS: Final = ("online", "offline", "present", "possible", "isolated", "kernel_max", "nohz_full")

# Linux 5.3 renamed these files; the new name first.
_CORE_MATES: Final = ("core_cpus", "thread_siblings")
_PACKAGE_MATES: Final = ("package_cpus", "core_siblings")


def read_lists(source: TreeSource, folder: str, names: tuple[str, ...]) -> dict[str, str]:
    """The kernel's lists in a directory as texts, without missing ones."""
    texts = ((name, source.tree.text(f"{folder}/{name}")) for name in names)
    return {name: text.strip() for name, text in texts if text is not None}


def read_cpus(source: TreeSource) -> tuple[Cpu, ...]:
    """All CPUs that have a directory or are online, by id."""
    directories = source.numbered(CPU_DIR, "cpu")
    known = caches.CachePool()
    placed = {
        cpu_id: _read_cpu(source, cpu_id, f"{CPU_DIR}/{name}", known)
        for cpu_id, name in directories.items()
    }
    online = _online(source, placed)
    cpus = {
        cpu_id: cpu if cpu_id in online else replace(cpu, online=False)
        for cpu_id, cpu in placed.items()
    }
    for cpu_id in online - cpus.keys():
        cpus[cpu_id] = Cpu(cpu_id)
    return tuple(cpus[cpu_id] for cpu_id in sorted(cpus))


def _online(source: TreeSource, placed: dict[int, Cpu]) -> CpuSet:
    listed = source.read(f"{CPU_DIR}/online", kernel_text.cpu_list)
    if listed is not None:
        return listed
    # Without the list, a CPU is offline if its own file says 0, or if it lacks a topology while
    # others have one. A missing file means nothing: cpu0 usually has no such file.
    some_placed = any(cpu.has_topology for cpu in placed.values())
    return frozenset(
        cpu_id
        for cpu_id, cpu in placed.items()
        if kernel_text.word(source.tree.text(f"{CPU_DIR}/cpu{cpu_id}/online")) in ("", "1")
        and (cpu.has_topology or not some_placed)
    )


def _read_cpu(source: TreeSource, cpu_id: int, folder: str, known: caches.CachePool) -> Cpu:
    topology = f"{folder}/topology"
    if not source.tree.is_directory(topology):
        return Cpu(cpu_id)
    return Cpu(
        cpu_id=cpu_id,
        package_id=source.read(f"{topology}/physical_package_id", kernel_text.integer),
        die_id=source.read(f"{topology}/die_id", kernel_text.integer),
        cluster_id=source.read(f"{topology}/cluster_id", kernel_text.integer),
        core_id=source.read(f"{topology}/core_id", kernel_text.integer),
        book_id=kernel_text.word(source.tree.text(f"{topology}/book_id")),
        drawer_id=kernel_text.word(source.tree.text(f"{topology}/drawer_id")),
        thread_siblings=_mates(source, topology, _CORE_MATES),
        package_siblings=_mates(source, topology, _PACKAGE_MATES),
        caches=known.read(source, f"{folder}/cache"),
    )


def _mates(source: TreeSource, topology: str, names: tuple[str, ...]) -> CpuSet | None:
    """CPUs in the first file that lists any, list before mask."""
    for name in names:
        listed = source.read(f"{topology}/{name}_list", kernel_text.cpu_list)
        if listed:
            return listed
        masked = source.read(f"{topology}/{name}", kernel_text.cpu_mask)
        if masked:
            return masked
    return None
