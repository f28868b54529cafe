"""Makes the cgroups of pods and containers and applies their settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.interface_files import SettingRefusal
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.runtime.attempts import AttemptFolder
from numalet.agent.host.runtime.port import Arranged, Launch, NotHeld
from numalet.agent.host.runtime.shim import attempt_files
from numalet.core.enforcement.settings import CgroupSettings

Until: TypeAlias = Callable[[Callable[[], bool]], Awaitable[bool]]
"""Waits until a condition holds; False after a timeout."""


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
