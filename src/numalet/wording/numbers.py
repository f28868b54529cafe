"""Numbers for readers: with a noun, sizes, amounts of a resource.

Nearly every command uses this module, so it imports no module that decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from numalet.core.model import cpu_set, resources

_UNITS: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, which gets an s: ``1 pod``, ``2 pods``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def cpus(of: Iterable[int]) -> str:
    """Format CPUs by their numbers: ``CPU 0``, ``CPUs 0-3``."""
    numbers = cpu_set.text(of)
    return f"CPU {numbers}" if numbers.isdecimal() else f"CPUs {numbers}"


def some(names: Iterable[str], most: int = 3) -> str:
    """Return the first names, and the number of others."""
    every = list(names)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")


def numa_nodes(node_ids: Iterable[int]) -> str:
    """Format NUMA nodes by their numbers: ``NUMA node 0``, ``NUMA nodes 0-1``; empty for none."""
    numbers = cpu_set.text(node_ids)
    return f"NUMA node{'' if numbers.isdecimal() else 's'} {numbers}" if numbers else ""


def nodes_and_closed(nodes: int, closed: int) -> str:
    """Say how many nodes there are, and how many of them get no new pods."""
    return f"{nodes} ({closed} closed)" if closed else str(nodes)


def rounded_size(size_bytes: int) -> str:
    """Format bytes in the largest unit that they fill, rounded."""
    value, unit = float(size_bytes), ""
    for name in _UNITS:
        if abs(value) < 1024:
            break
        value, unit = value / 1024, name
    return f"{value:.0f}{unit}" if value.is_integer() else f"{value:.2f}{unit}"


def amount(resource: str, value: int) -> str:
    """Format an amount in the units of a node: CPU in thousandths, sizes in bytes."""
    if resource == resources.CPU:
        return f"{value / 1000:.10g}"
    is_size = resources.is_memory_type(resource) or resource == resources.EPHEMERAL_STORAGE
    return size(value) if is_size else str(value)


def amounts(by_resource: Mapping[str, int]) -> str:
    """Format amounts for readers, devices first; ``-`` if empty."""
    names = sorted(by_resource, key=lambda each: (not resources.is_device(each), each))
    return ", ".join(f"{amount(name, by_resource[name])} {name}" for name in names) or "-"


def size(size_bytes: int) -> str:
    """Format bytes exactly in the largest unit that divides them, else with two decimals."""
    value, unit = size_bytes, ""
    for name in _UNITS:
        if value == 0 or value % 1024:
            break
        value, unit = value // 1024, name
    if value < 10_000:
        return f"{value}{unit}"
    scaled = float(size_bytes)
    for name in _UNITS:
        scaled /= 1024
        if scaled < 1024:
            return f"{scaled:.2f}{name}"
    return f"{scaled:.2f}{_UNITS[-1]}"
