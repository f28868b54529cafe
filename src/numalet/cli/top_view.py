"""A node and its pods as two tables, and the keys that order the pods."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rich.text import Text

from numalet.cli import breaking, output, ps_view
from numalet.cli.output import printable
from numalet.cli.ps_view import GOOD, WAITING, PodTable, Row
from numalet.cli.tables import Column, Columns, FittedTable, grouped, table
from numalet.core.model import cpu_set
from numalet.core.model.value import Value, replace
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

_BAR: Final = 12
Json: TypeAlias = Mapping[str, Any]


class View(Value):
    """The user's choices: order, filter and the first row on the screen.

    ``column`` is the number of the column that the rows are sorted by; with -1, pods that need
    attention come first.
    """

    column: int = -1
    is_reversed: bool = False
    wanted: str = ""
    is_typing: bool = False
    first: int = 0


class Screen(Value):
    """The lines of a screen, how many pods are on it, and how many there would be."""

    lines: list[str]
    page: int
    count: int


def pressed(view: View, key: str, screen: Screen) -> View | None:
    """Return the view after a key, or None for the end."""
    if view.is_typing:
        return _typed(view, key)
    moves = {
        "up": view.first - 1,
        "down": view.first + 1,
        "pgup": view.first - screen.page,
        "pgdn": view.first + screen.page,
        "home": 0,
        "end": screen.count,
    }
    if key in moves:
        return replace(view, first=max(0, min(moves[key], screen.count - screen.page)))
    match key:
        case "q":
            return None
        case "left" | "right":
            step = 1 if key == "right" else -1
            column = (view.column + 1 + step) % (len(COLUMNS) + 1) - 1
            return replace(view, column=column, is_reversed=False, first=0)
        case "r":
            return replace(view, is_reversed=not view.is_reversed, first=0)
        case "/":
            return replace(view, is_typing=True, wanted="", first=0)
        case "esc":
            return View()
        case _:
            return view


def _typed(view: View, key: str) -> View:
    match key:
        case "enter":
            return replace(view, is_typing=False)
        case "esc":
            return replace(view, is_typing=False, wanted="")
        case "backspace":
            return replace(view, wanted=view.wanted[:-1])
        case _:
            # Names of other keys have several letters.
            return replace(view, wanted=view.wanted + key) if len(key) == 1 else view


def ordered(pods: Sequence[Json], view: View, now: datetime) -> list[Json]:
    """Return the wanted pods in the order of the view."""
    shown = [
        item
        for item in pods
        if view.wanted.lower() in f"{COLUMNS[0].cell((item, now))} {item['status']}".lower()
    ]
    name = "" if view.column < 0 else COLUMNS[view.column].name
    shown.sort(key=lambda item: _order("NAME", item, now))
    # Amounts begin with the largest.
    backwards = view.is_reversed != (name in ("CPUS", "MEMORY", "USED"))
    return sorted(shown, key=lambda item: _order(name, item, now), reverse=backwards)


def _order(name: str, item: Json, now: datetime) -> Any:
    match name:
        case "":
            return _goodness(item)
        case "CPUS":
            return len(cpu_set.parse(item["cpus"]))
        case "MEMORY":
            return sum(item["memory"].values())
        case "USED":
            return _used_bytes(item)
        case "AGE":
            # The youngest first.
            created = item["metadata"]["creationTimestamp"]
            return -datetime.fromisoformat(created).timestamp() if created else 0.0
        case _:
            (cell,) = (str(each.cell((item, now))) for each in COLUMNS if each.name == name)
            parts = re.split(r"(\d+)", cell)
            return [(int(each) if each.isdecimal() else -1, each) for each in parts]


def _goodness(item: Json) -> int:
    """Return 0 for a pod that crashes, was rejected or lost its allocation, 2 for a good one."""
    if item["status"] in WAITING:
        return 1
    if item["status"] not in GOOD or item.get("unpromised"):
        return 0
    ready, _, containers = str(item["ready"]).partition("/")
    return 2 if item["status"] != "Running" or ready == containers else 1


def screen(nodes: str, pods: Sequence[Json], view: View, height: int, now: datetime) -> Screen:
    """Draw as many pods as there is room for; ``nodes`` are the lines above them."""
    top = nodes.splitlines()
    most = max(1, height // 2 - 1)
    if len(top) > most:
        rest = numbers.counted(len(top) - most + 1, "more line")
        top = [*top[: most - 1], f"and {rest}: see numalet top --once"]
    found = ordered(pods, view, now)
    shown = found[view.first : view.first + height]
    listed = PodTable(shown, now, COLUMNS)
    heads = listed.head().splitlines()
    text = f"/{view.wanted}_   Enter keep   Esc all pods" if view.is_typing else _KEYS
    keys = breaking.lines(text, output.console_width(), units=breaking.WORDS)
    # The rest: a blank line, the count, and the keys.
    room = max(1, height - len(top) - len(heads) - 2 - len(keys))
    rows: list[str] = []
    page = 0
    for item in shown:
        lines = listed.line(item, now).splitlines()
        if rows and len(rows) + len(lines) > room:
            break
        rows += lines[:room]
        page += 1
    body = [*top, "", _count(view, page, len(found), len(pods)), *heads, *rows]
    return Screen([*body, *[""] * (height - len(body) - len(keys)), *keys], page, len(found))


_KEYS: Final = "q quit   arrows, PgUp, PgDn scroll   left, right sort   r reverse   / filter"


def _count(view: View, page: int, found: int, count: int) -> str:
    words = f"{page} of {numbers.counted(count, 'pod')}"
    if view.first:
        words += f" from the {view.first + 1}th"
    if view.wanted:
        words += f", {found} with {printable(view.wanted)!r}"
    order = "those in trouble first" if view.column < 0 else f"by {COLUMNS[view.column].name}"
    return f"{words}, {order}{', reversed' if view.is_reversed else ''}"


def _used_bytes(item: Json) -> int:
    """Return the memory of the pod's containers, as the agent last saw it."""
    audits = [each["audit"] for each in item["containers"] if each["audit"]]
    by_node = (sizes for each in audits for sizes in each["bytesByNumaNode"].values())
    return sum(sum(sizes.values()) for sizes in by_node)


def _used(row: Row) -> str:
    size = _used_bytes(row[0])
    return numbers.rounded_size(size) if size else "-"


COLUMNS: Final[Columns[Row]] = (*ps_view.COLUMNS[:-1], Column("USED", _used), ps_view.COLUMNS[-1])


def picture(state: Json | None, pods: Sequence[Json]) -> list[RenderableType]:
    """Return the drawing of the node, if there is one."""
    if state is None:
        return []
    head = (
        f"{state['metadata']['name']}: {state['standing']}, held by {state['guarantee']},"
        f" topology policy {state['policies']['topology']}, {numbers.counted(len(pods), 'pod')}"
    )
    return [Text(head), Text(""), _nodes(state), output.legend_of_bars("promised")]


_Row: TypeAlias = tuple[Json | None, tuple[str, Mapping[str, int]]]
"""The node in its first row alone; a type of memory and its sizes."""


def _nodes(state: Json) -> FittedTable:
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
    used, free = sizes["reservedBytes"], sizes["freeBytes"]
    colour = "red" if used >= sizes["allocatableBytes"] * 0.95 else "green"
    return Text(output.bar(sizes["systemReservedBytes"], used, free, _BAR), style=colour)
