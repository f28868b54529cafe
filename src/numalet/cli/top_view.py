"""A node and its pods as two tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text

from numalet.cli.output import is_unicode
from numalet.cli.ps_view import PodTable
from numalet.core.model import cpu_set
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

_BAR: Final = 12


def picture(
    state: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]
) -> tuple[list[RenderableType], str]:
    """Return the drawing of the node, and the lines of its pods."""
    policies = state["policies"]
    head = (
        f"{state['metadata']['name']}: {state['standing']}, held by {state['guarantee']},"
        f" topology policy {policies['topology']}, {len(pods)} pods"
    )
    listed = PodTable(pods, datetime.now(UTC), is_wide=False).text(pods)
    return [Text(head), Text(""), _nodes(state)], listed


def _nodes(state: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("NUMA", "GROUP", "TYPE", "", "PROMISED", "FREE", "ALLOCATABLE", "CPUS USED"):
        table.add_column(name, no_wrap=True)
    cpus = {each["node_id"]: each for each in state["cpus"]}
    for node in state["numaNodes"]:
        first = True
        for kind, sizes in sorted(node["memory"].items(), key=lambda each: each[0] != "memory"):
            if not sizes["allocatableBytes"] and kind != "memory":
                continue
            table.add_row(
                str(node["id"]) if first else "",
                ",".join(map(str, node["group"])) if first else "",
                kind,
                _bar(sizes["reservedBytes"], sizes["allocatableBytes"]),
                numbers.size(sizes["reservedBytes"]),
                numbers.size(sizes["freeBytes"]),
                numbers.size(sizes["allocatableBytes"]),
                _cpus(cpus.get(node["id"])) if first else "",
            )
            first = False
    return table


def _cpus(node: Mapping[str, Any] | None) -> str:
    if node is None:
        return "-"
    exclusive = sum(len(cpu_set.parse(cpus)) for cpus in node["exclusive"].values())
    shared = len(cpu_set.parse(node["shared"]))
    reserved = len(cpu_set.parse(node["reserved"]))
    return f"{exclusive} of {exclusive + shared + reserved}"


def _bar(part: int, whole: int) -> Text:
    full, empty = ("█", "░") if is_unicode() else ("#", ".")
    filled = round(_BAR * part / whole) if whole else 0
    colour = "red" if whole and part >= whole * 0.95 else "green"
    return Text(full * filled, style=colour) + Text(empty * (_BAR - filled), style="dim")
