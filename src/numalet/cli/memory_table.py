"""The memory of a node as a table: the amounts of every type on each NUMA node, and the rest.

Nodes without memory are named in one line, and with many nodes, empty types are left out: of the 34
nodes of a tray with four accelerators six have memory, and each may have four types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from numalet.cli import breaking, output
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.machine_queries import NodeClass
from numalet.insight.maps.memory_map import MemoryMap, MemoryNodeRow
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

_BAR: Final = 10
_MOST_SINGLE: Final = 8
_TYPE_WIDTH: Final = len("hugepages-512Mi")


def memory_table(after: MemoryMap) -> Iterator[RenderableType]:
    """Yield the table, and below it the nodes without memory."""
    nodes = [node for node in after.nodes if not _is_nothing(node)]
    names = _types(after)
    shows_class = any(node.node_class is not NodeClass.CPU for node in nodes)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("NODE", justify="right")
    if shows_class:
        table.add_column("CLASS")
    table.add_column("GROUP", overflow="fold")
    width = max(map(len, names), default=0)
    table.add_column("TYPE", overflow="fold", min_width=min(_TYPE_WIDTH, width))
    for name in ("ALLOCATABLE", "RESERVED", "FREE"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for node in nodes:
        shown = [node.node_class.value] if shows_class else []
        first: list[RenderableType] = [str(node.node_id), *shown, breaking.cpus(_group(node))]
        for row in node.types:
            if row.resource in names:
                sizes = (row.allocatable_bytes, row.reserved_bytes, row.free_bytes)
                bar = _bar(row.reserved_bytes, row.allocatable_bytes)
                table.add_row(*first, row.resource, *map(numbers.size, sizes), bar)
                first = [""] * len(first)
    yield table
    without = [node.node_id for node in after.nodes if _is_nothing(node)]
    if without:
        yield Text(f"without memory: NUMA nodes {cpu_set.text(without)}", "dim")


def _is_nothing(node: MemoryNodeRow) -> bool:
    """Return whether the node has no memory; a reservation can give it a false amount."""
    counted = any(row.allocatable_bytes or row.reserved_bytes for row in node.types)
    return node.node_class is NodeClass.EMPTY and not counted


def _types(after: MemoryMap) -> frozenset[str]:
    is_small = len(after.nodes) <= _MOST_SINGLE
    rows = (row for node in after.nodes for row in node.types)
    return frozenset(row.resource for row in rows if is_small or row.total_bytes)


def _group(node: MemoryNodeRow) -> str:
    return "{" + numa_mask.listed(node.group) + "}" if len(node.group) > 1 else ""


def _bar(part: int, whole: int) -> str:
    """Draw the used part; full or empty only if exactly that."""
    if whole == 0:
        return ""
    filled = min(max(part * _BAR // whole, 1 if part else 0), _BAR)
    full, empty = ("█", "░") if output.is_unicode() else ("#", ".")
    return full * filled + empty * (_BAR - filled)
