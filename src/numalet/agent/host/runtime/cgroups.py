"""The cgroups of pods and containers, made with their settings in force."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from numalet.agent.host.cgroup_v2 import writing
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.cgroup_v2.writing import SettingRefusal
from numalet.agent.host.runtime.attempts import AttemptFolder
from numalet.agent.host.runtime.port import Arranged, Launch, NotHeld
from numalet.agent.host.runtime.shim import attempt_files
from numalet.core.enforcement.settings import CgroupSettings

Until: TypeAlias = Callable[[Callable[[], bool]], Awaitable[bool]]
"""Waits until a condition holds; False if patience ends before."""


def make(tree: CgroupTree, path: str, wanted: CgroupSettings) -> tuple[str, ...] | SettingRefusal:
    """Make a cgroup with its settings in force; the names of the settings that it wrote."""
    try:
        tree.make(path)
    except OSError as error:
        return writing.refused(path, path, "", error)
    return writing.apply(tree, path, wanted)


async def make_empty(
    tree: CgroupTree | None, launch: Launch, until: Until
) -> SettingRefusal | None:
    """Make a container's cgroup, without what an earlier attempt left in it."""
    if tree is None:
        return None
    path = launch.settings.path
    try:
        if tree.exists(path) and tree.processes(path):
            tree.kill(path)
            await until(lambda: not tree.processes(path))
        tree.remove(path)
    except OSError as error:
        return writing.refused(path, path, "", error)
    made = await asyncio.to_thread(make, tree, path, launch.settings.cgroup)
    return made if isinstance(made, SettingRefusal) else None


def tree_of(order: Mapping[str, Any], own: CgroupTree | None) -> CgroupTree | None:
    """The tree that the cgroup of an order is in; None if it has no cgroup.

    It is that of the process which gave the order: an agent that ran in another unit, or a command
    that began without one.
    """
    path, cgroup = order.get("path"), order.get("cgroup")
    if not path:
        return own
    if not cgroup:
        return None
    root = Path(cgroup.removesuffix(f"/{path}"))
    return own if own is not None and own.root == root else CgroupTree(root)


def trees_of(attempts: Iterable[AttemptFolder], own: CgroupTree | None) -> Collection[CgroupTree]:
    """The trees in which the cgroups of a pod may be: ours, and those of its attempts."""
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
