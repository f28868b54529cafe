"""The kernel's view of a container with or without a cgroup, and its CPU affinity."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from numalet.agent.host import procfs
from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.procfs import Allowed, Area, AreaKind
from numalet.agent.host.runtime.shim import process_tree
from numalet.core.enforcement import drift
from numalet.core.enforcement.reality import FILE, MEMORY, Reality
from numalet.core.enforcement.settings import CgroupSettings
from numalet.core.model import cpu_set, resources
from numalet.core.model.findings import BadInput


def inspect_cgroup(tree: CgroupTree, path: str, page_sizes: Sequence[int]) -> Reality | None:
    """Read charged pages and allowed sets, if the cgroup still exists."""
    try:
        pids = tree.processes(path)
        settings = interface_files.settings(tree, path, page_sizes)
        pages = interface_files.pages(tree, path, page_sizes)
    except (OSError, BadInput):
        return None
    allowed = tuple(allowed_of(pids))
    return Reality(
        pages_bytes=pages,
        allowed_cpus=frozenset().union(*(each.cpus for each in allowed)),
        allowed_nodes=tuple(sorted(frozenset().union(*(each.nodes for each in allowed)))),
        cgroup=settings,
        processes=len(allowed),
    )


def allowed_of(pids: Iterable[int]) -> Iterable[Allowed]:
    """Skips processes that have ended."""
    for pid in pids:
        try:
            allowed = procfs.read_status(pid)
        except BadInput:
            continue
        if allowed is not None:
            yield allowed


def inspect_processes(shim: int) -> Reality:
    """Pages and allowed sets of all processes below the shim. A shared page counts in each."""
    pids = process_tree.offspring(shim)
    areas = tuple(_areas(pids))
    allowed = tuple(allowed_of(pids))
    may_use = frozenset().union(*(each.nodes for each in allowed))
    # A memory policy does not change ``Mems_allowed``, so ``numa_maps`` has precedence.
    return Reality(
        pages_bytes=_pages(areas),
        allowed_cpus=frozenset().union(*(each.cpus for each in allowed)),
        allowed_nodes=tuple(sorted(_bound(areas) or may_use)),
        cgroup=None,
        processes=len(allowed),
    )


def move(shim: int, wanted: CgroupSettings) -> tuple[str, ...]:
    """Set the CPUs of all threads; return the names of changed settings.

    Memory stays: only a process itself can set its policy.
    """
    return move_all(process_tree.offspring(shim), wanted)


def move_all(pids: Iterable[int], wanted: CgroupSettings) -> tuple[str, ...]:
    if not wanted.cpus:
        return ()
    moved = False
    for pid in pids:
        for thread in _threads(pid):
            # A thread may end at any time.
            with contextlib.suppress(OSError):
                if os.sched_getaffinity(thread) != wanted.cpus:
                    os.sched_setaffinity(thread, wanted.cpus)
                    moved = True
    return (drift.CPUS,) if moved else ()


def _threads(pid: int) -> Iterable[int]:
    with contextlib.suppress(OSError):
        return [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]
    return ()


def _areas(pids: Iterable[int]) -> Iterable[Area]:
    for pid in pids:
        with contextlib.suppress(BadInput):
            maps = procfs.read_numa_maps(pid)
            yield from () if maps is None else maps.areas


def _bound(areas: Iterable[Area]) -> frozenset[int]:
    """The nodes that every area is bound to; empty if any area is not bound."""
    nodes: set[int] = set()
    for area in areas:
        policy, _, where = area.policy.partition(":")
        if not policy.startswith("bind"):
            return frozenset()
        with contextlib.suppress(cpu_set.CpuListError):
            nodes |= cpu_set.parse(where)
    return frozenset(nodes)


def _pages(areas: Iterable[Area]) -> Mapping[str, Mapping[int, int]]:
    sums: dict[str, Counter[int]] = {}
    for area in areas:
        match area.kind:
            case AreaKind.ANONYMOUS:
                kind = MEMORY
            case AreaKind.FILE:
                kind = FILE
            case AreaKind.HUGE:
                kind = resources.hugepages_name(area.page_size_bytes // 1024)
        for node, pages in area.pages_by_node.items():
            sums.setdefault(kind, Counter())[node] += pages * area.page_size_bytes
    return {kind: dict(sorted(nodes.items())) for kind, nodes in sorted(sums.items())}
