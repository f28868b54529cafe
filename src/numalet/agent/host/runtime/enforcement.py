"""How the kernel enforces a container's allocation.

``ground`` detects what this machine can enforce. The agent makes the cgroups of pods and
containers and applies their settings; without cgroups it sets CPU affinity. ``inspect_cgroup`` and
``inspect_processes`` read what the kernel does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from numalet.agent.host import procfs
from numalet.agent.host.cgroup_v2 import interface_files, root
from numalet.agent.host.cgroup_v2.interface_files import SettingRefusal
from numalet.agent.host.cgroup_v2.root import Place, Unusable
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.procfs import Allowed, Area, AreaKind
from numalet.agent.host.runtime.attempts import AttemptFolder
from numalet.agent.host.runtime.port import Arranged, Capabilities, Launch, NotHeld
from numalet.agent.host.runtime.shim import attempt_files, begin, process_tree
from numalet.core.enforcement import comparison
from numalet.core.enforcement.cgroup_settings import CgroupSettings
from numalet.core.enforcement.comparison import FILE, MEMORY, GuaranteeLevel, Reality
from numalet.core.model import cpu_set, resources
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value
from numalet.shared.findings.runtime import (
    RuntimeCanBeUndone,
    RuntimeNoMemoryPolicy,
    RuntimeSizesNotLimited,
)

Until: TypeAlias = Callable[[Callable[[], bool]], Awaitable[bool]]
"""Waits until a condition holds; False after a timeout."""


class HostCapabilities(Value):
    """``tree`` is set if cgroups can be used; ``binds_memory`` if memory policies can be set."""

    capabilities: Capabilities
    tree: CgroupTree | None = None
    binds_memory: bool = True


def ground(place: Place | None = None) -> HostCapabilities:
    """Detect the strongest means; ``place`` skips the search for a cgroup tree."""
    usable = root.find() if place is None else place
    if not isinstance(usable, Unusable):
        capabilities = Capabilities(GuaranteeLevel.KERNEL, usable.shortfalls)
        return HostCapabilities(capabilities, usable.tree)
    binds = begin.can_bind_memory()
    lacking = (
        usable.why.code,
        RuntimeSizesNotLimited.code,
        RuntimeCanBeUndone.code,
        *(() if binds else (RuntimeNoMemoryPolicy.code,)),
    )
    return HostCapabilities(Capabilities(GuaranteeLevel.PROCESS, lacking), None, binds)


def make(tree: CgroupTree, path: str, wanted: CgroupSettings) -> tuple[str, ...] | SettingRefusal:
    """Make a cgroup; return the names of the settings that were written."""
    try:
        tree.make(path)
    except OSError as error:
        return interface_files.refused(path, path, "", error)
    return interface_files.apply(tree, path, wanted)


async def make_empty(
    tree: CgroupTree | None, launch: Launch, until: Until
) -> SettingRefusal | None:
    """Make a container's cgroup, without leftovers of an earlier attempt."""
    if tree is None:
        return None
    path = launch.settings.path
    try:
        if tree.exists(path) and tree.processes(path):
            tree.kill(path)
            # A killed process stays in the cgroup until the kernel has torn it down.
            await until(lambda: not tree.processes(path))
        tree.remove(path)
    except OSError as error:
        return interface_files.refused(path, path, "", error)
    made = await asyncio.to_thread(make, tree, path, launch.settings.cgroup)
    return made if isinstance(made, SettingRefusal) else None


def tree_of(order: Mapping[str, Any], own: CgroupTree | None) -> CgroupTree | None:
    """Find the tree that contains the cgroup of an order, if the order has one."""
    path, cgroup = order.get("path"), order.get("cgroup")
    if not path:
        return own
    # An agent in another unit, or a command without an agent, may have used another tree.
    if not cgroup:
        return None
    root = Path(cgroup.removesuffix(f"/{path}"))
    return own if own is not None and own.root == root else CgroupTree(root)


def trees_of(attempts: Iterable[AttemptFolder], own: CgroupTree | None) -> Collection[CgroupTree]:
    """All trees that may contain cgroups of these attempts."""
    orders = (each.document(attempt_files.LAUNCH) or {} for each in attempts)
    trees = (own, *(tree_of(each, own) for each in orders))
    return {each.root: each for each in trees if each is not None}.values()


def arrange(tree: CgroupTree, wanted: Mapping[str, CgroupSettings]) -> Arranged:
    """Make the cgroups above the containers, by path."""
    written, not_held = [], {}
    for path, settings in wanted.items():
        made = make(tree, path, settings)
        if isinstance(made, SettingRefusal):
            not_held[path] = NotHeld(made.why)
        elif made:
            written.append(path)
    return Arranged(tuple(written), not_held)


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
                # Thread by thread: an affinity belongs to a thread, and new threads inherit that of
                # their creator.
                if os.sched_getaffinity(thread) != wanted.cpus:
                    os.sched_setaffinity(thread, wanted.cpus)
                    moved = True
    return (comparison.CPUS,) if moved else ()


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
