"""Words, whole figures and paths of the maps of a fleet."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode

from numalet.core.model import resources

_GIB: Final = 1 << 30


def unit(resource: str) -> str:
    """Return the unit on a map, after a number: ``free CPUs``, ``GiB free of memory``."""
    if resource == resources.CPU:
        return "free CPUs"
    if resources.is_memory_type(resource):
        return f"GiB free of {resource}"
    return f"free {resource}"


def rounded(resource: str, amount: int) -> int:
    """Round an amount of thousandths of a CPU or bytes down to that unit."""
    if resource == resources.CPU:
        return amount // 1000
    return amount // _GIB if resources.is_memory_type(resource) else amount


def node_path(path: str, name: str) -> str:
    """Return the path of a node's page; ``path`` is that of the dashboard."""
    return f"{path}/fleet/nodes/{quote(name, safe='')}"


def alike_path(path: str, name: str, resource: str) -> str:
    """Return the path of the nodes that are drawn like this one."""
    return f"{path}/fleet?{urlencode({'alike': name, 'resource': resource})}"
