"""The cgroups of pods and containers, made with their settings in force."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from numalet.agent.host.cgroup_v2 import writing
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.cgroup_v2.writing import SettingRefusal
from numalet.agent.host.runtime.port import Arranged, Launch, NotHeld
from numalet.core.enforcement.settings import CgroupSettings

Until: TypeAlias = Callable[[Callable[[], bool]], Awaitable[None]]
"""Waits until a condition holds, or patience ends."""


async def enclose(tree: CgroupTree | None, launch: Launch, until: Until) -> SettingRefusal | None:
    """Make the container's cgroup; what the kernel refused. Without a tree there is none."""
    if tree is None:
        return None
    path = launch.settings.path
    try:
        if tree.exists(path) and tree.processes(path):
            tree.kill(path)
            await until(lambda: not tree.processes(path))
        tree.remove(path)
        tree.make(path)
    except OSError as error:
        return writing.refused(path, path, "", error)
    applied = await asyncio.to_thread(writing.apply, tree, path, launch.settings.cgroup)
    return applied if isinstance(applied, SettingRefusal) else None


def arrange(tree: CgroupTree, wanted: Mapping[str, CgroupSettings]) -> Arranged:
    """Make the cgroups above the containers, by path; what was not as wanted."""
    written, not_held = [], {}
    for path, settings in wanted.items():
        # A cgroup that can not be made is refused by its first setting, with the path.
        with contextlib.suppress(OSError):
            tree.make(path)
        applied = writing.apply(tree, path, settings)
        if isinstance(applied, SettingRefusal):
            not_held[path] = NotHeld(applied.why)
        elif applied:
            written.append(path)
    return Arranged(tuple(written), not_held)
