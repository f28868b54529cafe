"""The list of machine profiles for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from numalet.cli.machine_picture import size_text
from numalet.insight.maps.profile_list import ProfileRow

if TYPE_CHECKING:
    from rich.table import Table

HOW_TO: Final = (
    "-m profile:NAME uses one; --devices profile:NAME adds the devices of those that have some."
)


def table(rows: Iterable[ProfileRow]) -> Table:
    """Return one row per profile, its size before its description."""
    from rich.table import Table

    drawn = Table(box=None, expand=True, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    drawn.add_column("Profile", no_wrap=True)
    drawn.add_column("Nodes", justify="right")
    drawn.add_column("with\nCPUs", justify="right")
    drawn.add_column("CPUs", justify="right")
    drawn.add_column("Memory", justify="right", no_wrap=True)
    drawn.add_column("What it is like", ratio=1)
    for row in rows:
        numbers = (row.numa_nodes, row.nodes_with_cpus, row.cpus)
        drawn.add_row(row.name, *map(str, numbers), size_text(row.memory_bytes), row.about)
    return drawn
