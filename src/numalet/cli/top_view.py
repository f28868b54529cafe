"""A node and its pods as two tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rich.text import Text

from numalet.cli.output import is_unicode
from numalet.cli.ps_view import PodTable
from numalet.cli.tables import Column, Columns, grouped, table
from numalet.core.model import cpu_set
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

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


Json: TypeAlias = Mapping[str, Any]
_Row: TypeAlias = tuple[Json | None, tuple[str, Mapping[str, int]]]
"""The node in its first row alone; a type of memory and its sizes."""


def _nodes(state: Json) -> Table:
    cpus = {each["node_id"]: each for each in state["cpus"]}

    def size(name: str, key: str) -> Column[_Row]:
        return Column(name, lambda row: numbers.size(row[1][1][key]), whole=True)

    columns: Columns[_Row] = (
        Column("NUMA", lambda row: row[0]["id"] if row[0] else "", whole=True),
        Column("GROUP", lambda row: ",".join(map(str, row[0]["group"] if row[0] else ()))),
        Column("TYPE", lambda row: row[1][0], whole=True),
        Column("", lambda row: _bar(row[1][1]), whole=True),
        size("PROMISED", "reservedBytes"),
        size("FREE", "freeBytes"),
        size("ALLOCATABLE", "allocatableBytes"),
        Column("CPUS USED", lambda row: _cpus(cpus.get(row[0]["id"])) if row[0] else ""),
    )
    return table(columns, grouped((node, _types(node)) for node in state["numaNodes"]))


def _types(node: Json) -> list[tuple[str, Mapping[str, int]]]:
    """Return the node's types of memory, huge pages only if the node has some."""
    types = sorted(node["memory"].items(), key=lambda each: each[0] != "memory")
    return [each for each in types if each[1]["allocatableBytes"] or each[0] == "memory"]


def _cpus(node: Mapping[str, Any] | None) -> str:
    if node is None:
        return "-"
    exclusive = sum(len(cpu_set.parse(cpus)) for cpus in node["exclusive"].values())
    shared = len(cpu_set.parse(node["shared"]))
    reserved = len(cpu_set.parse(node["reserved"]))
    return f"{exclusive} of {exclusive + shared + reserved}"


def _bar(sizes: Mapping[str, int]) -> Text:
    part, whole = sizes["reservedBytes"], sizes["allocatableBytes"]
    full, empty = ("█", "░") if is_unicode() else ("#", ".")
    filled = round(_BAR * part / whole) if whole else 0
    colour = "red" if whole and part >= whole * 0.95 else "green"
    return Text(full * filled, style=colour) + Text(empty * (_BAR - filled), style="dim")
