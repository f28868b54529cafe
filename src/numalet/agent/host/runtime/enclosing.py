"""A container's cgroup, made anew with its settings in force."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from numalet.agent.host.cgroup_v2 import writing
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.cgroup_v2.writing import SettingRefusal
from numalet.agent.host.runtime.port import Launch

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
        fields = {"cgroup": path, "file": path, "value": "", "error": error.strerror or str(error)}
        return SettingRefusal(writing.REFUSED, fields, error.errno or 0)
    applied = await asyncio.to_thread(writing.apply, tree, path, launch.settings.cgroup)
    return applied if isinstance(applied, SettingRefusal) else None
