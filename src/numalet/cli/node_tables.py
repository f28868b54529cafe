"""CPUs, devices and memory of a node as tables.

A CPU is one character: the letter of the pod that it is exclusive to, ``r`` if it is reserved, a
dot if it is shared. The CPUs of a core are adjacent, so that split cores are visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from numalet.cli import breaking, output
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.machine_queries import NodeClass
from numalet.insight.maps.resource_maps import (
    CpuCell,
    CpuUse,
    NodeCpus,
    SimulationDevicesDocument,
    SimulationNodeDocument,
)
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType


_COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "red")
_RESERVED, _SHARED = "r", "."


def cpu_table(nodes: Iterable[NodeCpus], names: Mapping[str, str]) -> list[Table | Text]:
    """Return the CPUs of every node core by core, and the legend of letters.

    ``names`` are those of the pods by uid. Letters repeat after the last one.
    """
    nodes = tuple(nodes)
    owners = sorted(
        {cell.pod_uid for node in nodes for core in node.cores for cell in core} - {""},
        key=lambda uid: (names.get(uid, uid), uid),
    )
    numbers = {uid: number for number, uid in enumerate(owners)}
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("NODE", justify="right")
    table.add_column("CPUS", overflow="fold")
    for name in ("EXCLUSIVE", "SHARED"):
        table.add_column(name, justify="right", no_wrap=True)
    for node in nodes:
        table.add_row(
            str(node.node_id),
            Text(" ").join(_core(core, numbers) for core in node.cores),
            str(node.count(CpuUse.EXCLUSIVE)),
            str(node.count(CpuUse.SHARED)),
        )
    return [table, *_legend(nodes, names, numbers)]


def _core(core: Sequence[CpuCell], numbers: Mapping[str, int]) -> Text:
    return Text("").join(_cell(cell, numbers) for cell in core)


def _cell(cell: CpuCell, numbers: Mapping[str, int]) -> Text:
    match cell.use:
        case CpuUse.EXCLUSIVE:
            return _letter(numbers[cell.pod_uid])
        case CpuUse.RESERVED:
            return Text(_RESERVED, "dim")
        case CpuUse.SHARED:
            return Text(_SHARED, "dim")


def _letter(number: int) -> Text:
    letter = ascii_uppercase[number % len(ascii_uppercase)]
    return Text(letter, f"bold {_COLOURS[number % len(_COLOURS)]}")


def _legend(
    nodes: Iterable[NodeCpus], names: Mapping[str, str], numbers: Mapping[str, int]
) -> Iterable[Text]:
    held: dict[str, list[int]] = {uid: [] for uid in numbers}
    for node in nodes:
        for core in node.cores:
            for cell in core:
                if cell.pod_uid:
                    held[cell.pod_uid].append(cell.cpu)
    for uid, number in numbers.items():
        name = output.printable(names.get(uid, uid))
        yield Text.assemble(_letter(number), f" {name}: {cpu_set.text(held[uid])}")
    yield Text(f"{_RESERVED} reserved   {_SHARED} shared", "dim")


def device_table(rows: Iterable[SimulationDevicesDocument]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("RESOURCE", "NODES", "IN USE", "FREE", "UNHEALTHY"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(
            Text(output.printable(row.resource)),
            ",".join(map(str, row.numa_nodes)) or "none",
            *(_ids(names) for names in (row.in_use, row.free, row.unhealthy)),
        )
    return table


def _ids(names: Sequence[str]) -> Text:
    return Text(output.printable(", ".join(names)) or "-")


_BAR: Final = 10
_MOST_SINGLE: Final = 8
_TYPE_WIDTH: Final = len("hugepages-512Mi")


def memory_table(numa_nodes: Sequence[SimulationNodeDocument]) -> Iterator[RenderableType]:
    """Yield the table, and below it the nodes without memory."""
    nodes = [node for node in numa_nodes if not _is_nothing(node)]
    names = _types(numa_nodes)
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
    without = [node.node_id for node in numa_nodes if _is_nothing(node)]
    if without:
        yield Text(f"without memory: NUMA nodes {cpu_set.text(without)}", "dim")


def _is_nothing(node: SimulationNodeDocument) -> bool:
    """Return whether the node has no memory; a reservation can give it a false amount."""
    counted = any(row.allocatable_bytes or row.reserved_bytes for row in node.types)
    return node.node_class is NodeClass.EMPTY and not counted


def _types(shown: Sequence[SimulationNodeDocument]) -> frozenset[str]:
    is_small = len(shown) <= _MOST_SINGLE
    rows = (row for node in shown for row in node.types)
    return frozenset(row.resource for row in rows if is_small or row.total_bytes)


def _group(node: SimulationNodeDocument) -> str:
    return "{" + numa_mask.listed(node.group) + "}" if len(node.group) > 1 else ""


def _bar(part: int, whole: int) -> str:
    """Draw the used part; full or empty only if exactly that."""
    if whole == 0:
        return ""
    filled = min(max(part * _BAR // whole, 1 if part else 0), _BAR)
    full, empty = ("█", "░") if output.is_unicode() else ("#", ".")
    return full * filled + empty * (_BAR - filled)
