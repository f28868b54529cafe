"""CPUs, devices and memory of a node as tables.

A CPU is one character: the letter of the pod that it is exclusive to, ``r`` if it is reserved, a
dot if it is free (see ``insight.maps.room``). The CPUs of a core are adjacent, so that split cores
are visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final, TypeAlias

from rich.text import Text

from numalet.cli import output
from numalet.cli.tables import Column, Columns, FittedTable, grouped, legend, table
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.machine_queries import NodeClass
from numalet.insight.maps import map_devices
from numalet.insight.maps.resource_maps import (
    CpuCell,
    CpuUse,
    NodeCpus,
    SimulationDevicesDocument,
    SimulationNodeDocument,
    TypeDocument,
)
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType


_COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "red")
_RESERVED, _FREE = "r", "."


def cpu_table(nodes: Iterable[NodeCpus], names: Mapping[str, str]) -> list[FittedTable | Text]:
    """Return the CPUs of every node core by core, and the legend of letters.

    ``names`` are those of the pods by uid. Letters repeat after the last one.
    """
    nodes = tuple(nodes)
    owners = sorted(
        {cell.pod_uid for node in nodes for core in node.cores for cell in core} - {""},
        key=lambda uid: (names.get(uid, uid), uid),
    )
    numbers = {uid: number for number, uid in enumerate(owners)}
    columns: Columns[NodeCpus] = (
        Column("NODE", lambda node: node.node_id, right=True),
        Column("CPUS", lambda node: Text(" ").join(_core(each, numbers) for each in node.cores)),
        Column("EXCLUSIVE", lambda node: node.count(CpuUse.EXCLUSIVE), right=True, whole=True),
        Column("FREE", lambda node: node.count(CpuUse.SHARED), right=True, whole=True),
    )
    return [table(columns, nodes), *_legend(nodes, names, numbers)]


def _core(core: Sequence[CpuCell], numbers: Mapping[str, int]) -> Text:
    return Text("").join(_cell(cell, numbers) for cell in core)


def _cell(cell: CpuCell, numbers: Mapping[str, int]) -> Text:
    match cell.use:
        case CpuUse.EXCLUSIVE:
            return _letter(numbers[cell.pod_uid])
        case CpuUse.RESERVED:
            return Text(_RESERVED, "dim")
        case CpuUse.SHARED:
            return Text(_FREE, "dim")


def _letter(number: int) -> Text:
    letter = ascii_uppercase[number % len(ascii_uppercase)]
    return Text(letter, f"bold {_COLOURS[number % len(_COLOURS)]}")


def _legend(
    nodes: Iterable[NodeCpus], names: Mapping[str, str], numbers: Mapping[str, int]
) -> list[FittedTable | Text]:
    held: dict[str, list[int]] = {uid: [] for uid in numbers}
    for node in nodes:
        for core in node.cores:
            for cell in core:
                if cell.pod_uid:
                    held[cell.pod_uid].append(cell.cpu)
    columns: Columns[str] = (
        Column("", lambda uid: _letter(numbers[uid])),
        Column("", lambda uid: f"{names.get(uid, uid)}: {cpu_set.text(held[uid])}"),
    )
    letters = [legend(columns, numbers)] if numbers else []
    return [*letters, Text(f"{_RESERVED} reserved   {_FREE} free", "dim")]


def device_table(rows: Sequence[SimulationDevicesDocument]) -> FittedTable:
    """Return the devices; those whose ids are UUIDs have the numbers that drawings have."""
    ids: dict[str, list[str]] = {}
    for row in rows:
        ids.setdefault(row.resource, []).extend((*row.in_use, *row.free, *row.unhealthy))
    number_of = {resource: map_devices.numbered(some) for resource, some in ids.items()}

    def names(resource: str, some: Iterable[str]) -> str:
        of = number_of[resource]
        return ", ".join(map_devices.full_name(resource, each, of[each]) for each in some) or "-"

    columns: Columns[SimulationDevicesDocument] = (
        Column("RESOURCE", lambda row: row.resource),
        Column("NODES", lambda row: ",".join(map(str, row.numa_nodes)) or "none"),
        Column("IN USE", lambda row: names(row.resource, row.in_use)),
        Column("FREE", lambda row: names(row.resource, row.free)),
        Column("UNHEALTHY", lambda row: names(row.resource, row.unhealthy)),
    )
    return table(columns, rows)


_MOST_SINGLE: Final = 8
_TYPE_WIDTH: Final = len("hugepages-512Mi")


_MemoryRow: TypeAlias = tuple[SimulationNodeDocument | None, TypeDocument]
"""The node in its first row alone; a type of memory."""


def _of_node(
    cell: Callable[[SimulationNodeDocument], RenderableType],
) -> Callable[[_MemoryRow], RenderableType]:
    return lambda row: "" if row[0] is None else cell(row[0])


def bar(row: TypeDocument) -> str:
    """Return the bar of a type of memory."""
    return output.bar(row.system_reserved_bytes, row.reserved_bytes, row.free_bytes)


def memory_table(numa_nodes: Sequence[SimulationNodeDocument]) -> Iterator[RenderableType]:
    """Yield the table, and below it the nodes without memory."""
    nodes = [node for node in numa_nodes if not _is_nothing(node)]
    names = _types(numa_nodes)
    rows = grouped((node, [row for row in node.types if row.resource in names]) for node in nodes)
    least = min(_TYPE_WIDTH, max(map(len, names), default=0))
    columns: list[Column[_MemoryRow]] = [
        Column("NODE", _of_node(lambda node: str(node.node_id)), right=True),
        Column("CLASS", _of_node(lambda node: node.node_class.value)),
        Column("GROUP", _of_node(_group)),
        Column("TYPE", lambda row: row[1].resource, least=least),
        Column("ALLOCATABLE", lambda row: numbers.size(row[1].allocatable_bytes), True, True),
        Column("USED", lambda row: numbers.size(row[1].reserved_bytes), True, True),
        Column("FREE", lambda row: numbers.size(row[1].free_bytes), True, True),
        Column("", lambda row: bar(row[1]), whole=True),
    ]
    if all(node.node_class is NodeClass.CPU for node in nodes):
        del columns[1]
    yield table(columns, rows)
    yield output.legend_of_bars()
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
