"""Units, rounded amounts and paths for the maps of a fleet."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode

from numalet.core.model import resources

_GIB: Final = 1 << 30


def unit(resource: str) -> str:
    """Return the unit, as in ``free CPUs`` or ``GiB free of memory``."""
    if resource == resources.CPU:
        return "free CPUs"
    if resources.is_memory_type(resource):
        return f"GiB free of {resource}"
    return f"free {resource}"


def rounded(resource: str, amount: int) -> int:
    """Round thousandths of a CPU or bytes down to CPUs or GiB."""
    if resource == resources.CPU:
        return amount // 1000
    return amount // _GIB if resources.is_memory_type(resource) else amount


def node_path(path: str, name: str) -> str:
    return f"{path}/fleet/nodes/{quote(name, safe='')}"


def alike_path(path: str, name: str, resource: str) -> str:
    """Return the path of the page with all nodes that are drawn like this one."""
    return f"{path}/fleet?{urlencode({'alike': name, 'resource': resource})}"
