"""A machine map drawn for a terminal of 80 columns.

Up to eight NUMA nodes are drawn as boxes, socket by socket; more are rows of a table. Distances are
a matrix if it fits, else lists of nodes by distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from numalet.cli import tables
from numalet.cli.tables import Boxes, Column, Columns, FittedTable
from numalet.core.model import cpu_set
from numalet.core.model.machine_info import HugePages
from numalet.core.model.machine_queries import NodeClass
from numalet.insight.maps import machine_map
from numalet.insight.maps.machine_map import MachineMap, MachineNodeRow, ProfileRow, View
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.panel import Panel


_MOST_BOXES: Final = 8
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def picture(chart: MachineMap) -> list[RenderableType]:
    """Return the parts to print, from top to bottom."""
    from rich.text import Text

    drawn: list[RenderableType] = [Text(_title(chart), style="bold"), Text(_totals(chart))]
    if 0 < len(chart.numa_nodes) <= _MOST_BOXES:
        drawn += _boxes(chart)
    elif chart.numa_nodes:
        drawn.append(_node_table(chart.numa_nodes))
    if any(row.distances for row in chart.numa_nodes):
        drawn += [Text(""), Text("Distances", style="bold"), _distances(chart.numa_nodes)]
    return drawn


def notes_list(sentences: Iterable[str]) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1, 0, 0))
    for each in sentences:
        grid.add_row("-", Text(each))
    return Group(Text(""), Text("Notes", style="bold"), grid)


def _title(chart: MachineMap) -> str:
    whose = "as the kubelet sees it" if chart.view is View.KUBELET else "as it is"
    return f"{chart.source}, {whose}"


def _totals(chart: MachineMap) -> str:
    parts = [
        numbers.counted(chart.sockets, "socket"),
        numbers.counted(len(chart.numa_nodes), "NUMA node"),
        numbers.counted(chart.cores, "core"),
        numbers.counted(chart.cpus, "CPU"),
        size_text(chart.memory_bytes),
    ]
    pages = pages_text(chart.hugepages)
    return ", ".join(parts) + (f"\nhuge pages: {pages}" if pages else "")


def size_text(size_bytes: int) -> str:
    """Format a size with at most four digits: 125.4 GiB."""
    size = float(size_bytes)
    unit = 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size /= 1024
        unit += 1
    number = f"{size:.0f}" if size >= 1000 else f"{size:.4g}"
    return f"{number} {_UNITS[unit]}"


def pages_text(pages: Iterable[HugePages]) -> str:
    """Format existing huge pages: ``4 x 1 GiB, 512 x 2 MiB``; largest first."""
    there = sorted(
        (page for page in pages if page.count), key=lambda page: page.page_size_kib, reverse=True
    )
    return ", ".join(f"{page.count} x {size_text(page.page_size_kib * 1024)}" for page in there)


def _boxes(chart: MachineMap) -> list[RenderableType]:
    """Draw a box for each node; nodes of the same sockets have one heading."""
    from rich.text import Text

    drawn: list[RenderableType] = []
    groups: dict[tuple[int, ...], list[MachineNodeRow]] = {}
    for row in chart.numa_nodes:
        groups.setdefault(row.sockets, []).append(row)
    for sockets, rows in groups.items():
        drawn += [Text(""), Text(_socket_text(sockets), style="bold")]
        drawn.append(Boxes([*map(_box, rows)]))
    return drawn


def _socket_text(sockets: tuple[int, ...]) -> str:
    match sockets:
        case ():
            return "Without CPUs"
        case (one,):
            return f"Socket {one}"
        case _:
            return f"Sockets {cpu_set.text(s for s in sockets if s >= 0)}"


def _box(row: MachineNodeRow) -> Panel:
    from rich.panel import Panel
    from rich.table import Table

    lines = Table.grid(padding=(0, 1))
    lines.add_column(style="dim")
    lines.add_column(overflow="fold")
    lines.add_row("CPUs", _cpus_text(row))
    if row.cpus:
        lines.add_row("Cores", str(row.cores))
    lines.add_row("Memory", _memory_text(row))
    if row.node_class is not NodeClass.CPU:
        lines.add_row("Class", row.node_class.value)
    if row.hugepages:
        lines.add_row("Pages", pages_text(row.hugepages) or "none")
    return Panel(lines, title=f"NUMA node {row.id}", title_align="left")


def _cpus_text(row: MachineNodeRow) -> str:
    text = f"{row.cpus} ({len(cpu_set.parse(row.cpus))})" if row.cpus else "none"
    return text + (f", offline {row.offline_cpus}" if row.offline_cpus else "")


def _memory_text(row: MachineNodeRow) -> str:
    return "not said" if row.memory_bytes is None else size_text(row.memory_bytes)


def _node_table(rows: tuple[MachineNodeRow, ...]) -> FittedTable:
    """Return one line per node, with classes if there are several."""
    columns: list[Column[MachineNodeRow]] = [
        Column("Node", lambda row: row.id, right=True),
        Column("Class", lambda row: row.node_class.value),
        Column("Socket", lambda row: ",".join(map(str, row.sockets)) or "-"),
        Column("CPUs", _cpus_text),
        Column("Memory", _memory_text, right=True, whole=True),
        Column("Huge pages", lambda row: pages_text(row.hugepages) or "-"),
    ]
    if all(row.node_class is NodeClass.CPU for row in rows):
        del columns[1]
    return tables.table(columns, rows)


def _distances(rows: tuple[MachineNodeRow, ...]) -> FittedTable:
    """Return a matrix if it fits, else the nodes by distance."""
    from rich.text import Text

    # Columns are always the nodes by ascending id, whatever the order of the rows.
    names = sorted(row.id for row in rows)
    columns: list[Column[MachineNodeRow]] = [
        Column("node", lambda row: Text(str(row.id), style="dim"), right=True)
    ]
    # A machine description may lack distances, or have rows of another length.
    is_square = all(len(row.distances or names) == len(names) for row in rows)
    if len(names) <= machine_map.MOST_DISTANCES and is_square:

        def distance(at: int) -> Callable[[MachineNodeRow], str]:
            return lambda row: str(row.distances[at]) if row.distances else "-"

        columns += [Column(str(name), distance(at), right=True) for at, name in enumerate(names)]
    else:
        listed = machine_map.distances(rows)
        columns.append(Column("distance: nodes", lambda row: listed[row.id]))
    return tables.table(columns, rows, header_style="dim")


HOW_TO: Final = (
    "-m profile:NAME uses one; --devices profile:NAME adds the devices of those that have some."
)


PROFILES: Final[Columns[ProfileRow]] = (
    Column("Profile", lambda row: row.name, whole=True),
    Column("Nodes", lambda row: row.numa_nodes, right=True),
    Column("with\nCPUs", lambda row: row.nodes_with_cpus, right=True),
    Column("CPUs", lambda row: row.cpus, right=True),
    Column("Memory", lambda row: size_text(row.memory_bytes), right=True, whole=True),
    Column("Description", lambda row: row.about),
)
"""The size of a profile before its description."""
