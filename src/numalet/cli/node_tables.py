"""CPUs and devices of a node as tables.

A CPU is one character: the letter of the pod that it is exclusive to, ``r`` if it is reserved, a
dot if it is shared. The CPUs of a core are adjacent, so that split cores are visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Final

from rich.table import Table
from rich.text import Text

from numalet.cli import output
from numalet.core.model import cpu_set
from numalet.insight.maps.cpu_map import CpuCell, CpuUse, NodeCpus
from numalet.insight.maps.device_map import DeviceRow

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


def device_table(rows: Iterable[DeviceRow]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("RESOURCE", "NODES", "IN USE", "FREE", "UNHEALTHY"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(
            Text(output.printable(row.resource)),
            ",".join(map(str, row.nodes)) or "none",
            *(_ids(names) for names in (row.in_use, row.free, row.unhealthy)),
        )
    return table


def _ids(names: Sequence[str]) -> Text:
    return Text(output.printable(", ".join(names)) or "-")
