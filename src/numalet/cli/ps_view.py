"""Pods as lines of a table whose columns stay aligned while a watch adds lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final, TypeAlias

import typer
from rich.cells import cell_len

from numalet.cli import breaking, output, tables
from numalet.cli.output import printable
from numalet.cli.tables import Column, Columns
from numalet.core.model import grammar
from numalet.wording import numbers
from numalet.wording.kubelet import UNPROMISED

_STATUS: Final = 2
_ANY_WIDTH: Final = 100_000
_ENDS: Final = {"NAME": breaking.NAMES, "STATUS": "/", "MEMORY": "+,", "ALIGNED": "("}
GOOD: Final = ("Running", "Completed", "Succeeded")
WAITING: Final = ("Pending", "ContainerCreating", "PodInitializing", "Terminating")
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "m"))


Row: TypeAlias = tuple[Mapping[str, Any], datetime]


class PodTable:
    """A table of pods. Its first lines determine the widths of the columns.

    On a terminal, columns are narrowed to its width, and a row may have several lines. Where they
    do not fit side by side, each row is a list of its cells.
    """

    def __init__(
        self,
        items: Sequence[Mapping[str, Any]],
        now: datetime,
        columns: Columns[Row] = (),
        *,
        is_wide: bool = False,
    ) -> None:
        self._now = now
        self._columns = columns or (_WIDE if is_wide else COLUMNS)
        self._heads = [each.name for each in self._columns]
        rows = [self._heads, *(self._cells(item, now) for item in items)]
        self._ends = [_ENDS.get(each.name, breaking.LISTS) for each in self._columns]
        self._room = output.console_width() if sys.stdout.isatty() else _ANY_WIDTH
        for least in (breaking.NAME_WIDTH, 0):
            columns_of_cells = zip(zip(*rows, strict=True), self._ends, strict=True)
            ranges = [_range(cells, ends, least) for cells, ends in columns_of_cells]
            if (fitted := tables.fit(ranges, self._room, (3, 1))) is not None:
                break
        self._fitted = fitted

    def text(self, items: Sequence[Mapping[str, Any]]) -> str:
        """Return header and lines."""
        return self.head() + "".join(self.line(item, self._now) for item in items)

    def head(self) -> str:
        return self._drawn(self._heads) if self._fitted else ""

    def line(self, item: Mapping[str, Any], now: datetime, *, gone: bool = False) -> str:
        """Return a row; a deleted pod has the status Gone."""
        cells = self._cells(item, now)
        if gone:
            cells[_STATUS] = "Gone"
        return self._drawn(cells, _colour(cells[_STATUS]))

    def _drawn(self, cells: Sequence[str], colour: str | None = None) -> str:
        if self._fitted is None:
            return self._listed(cells, colour)
        gap, widths = self._fitted
        columns = [
            breaking.lines(cell, max(width, breaking.widths(cell, ends)[0]), ends)
            for cell, width, ends in zip(cells, widths, self._ends, strict=True)
        ]
        drawn = []
        for row in zip_longest(*columns, fillvalue=""):
            padded = [
                part + " " * (width - cell_len(part))
                for part, width in zip(row, widths, strict=True)
            ]
            if colour:
                padded[_STATUS] = typer.style(padded[_STATUS], fg=colour)
            drawn.append((" " * gap).join(padded).rstrip() + "\n")
        return "".join(drawn)

    def _listed(self, cells: Sequence[str], colour: str | None) -> str:
        indent = max(map(len, self._heads)) + 2
        drawn = []
        for head, cell, ends in zip(self._heads, cells, self._ends, strict=True):
            # A long id is whole below its head.
            is_below = breaking.widths(cell, ends)[0] > self._room - indent
            at, begin = (2, f"{head}\n  ") if is_below else (indent, f"{head:<{indent}}")
            lines = breaking.lines(cell, self._room - at, ends)
            if colour and head == self._heads[_STATUS]:
                lines = [typer.style(line, fg=colour) for line in lines]
            drawn.append(begin + f"\n{' ' * at}".join(lines) + "\n")
        return "".join(drawn) + "\n"

    def _cells(self, item: Mapping[str, Any], now: datetime) -> list[str]:
        return [printable(str(each.cell((item, now)))) for each in self._columns]


def _range(cells: Iterable[str], ends: str, name_width: int) -> tuple[int, int]:
    """Return the least and the most width of a column."""
    sizes = [breaking.widths(cell, ends) for cell in cells]
    least, most = (max(each) for each in zip(*sizes, strict=True))
    return max(least, min(most, name_width)) if ends == breaking.NAMES else least, most


def _name(item: Mapping[str, Any]) -> str:
    namespace, name = item["metadata"]["namespace"], item["metadata"]["name"]
    return name if namespace == "default" else f"{namespace}/{name}"


def _levels(item: Mapping[str, Any]) -> str:
    return ",".join(sorted({each["guarantee"] or "-" for each in item["containers"]})) or "-"


def _status(item: Mapping[str, Any]) -> str:
    """Return the pod's status; a pod that runs without its allocation is marked."""
    status: str = item["status"]
    return f"{status}/{UNPROMISED}" if item.get("unpromised") else status


def left_behind(state: Mapping[str, Any], pod_uid: str | None = None) -> list[str]:
    """Return a line for every container of a deleted or rejected pod that has an allocation.

    ``state`` is a NodeState; with ``pod_uid`` only those of this pod.
    """
    return [
        f"{printable(holder['pod'])}/{printable(holder['container'])}: {_held(holder)}"
        for holder in state["leftBehind"]
        if pod_uid in (None, holder["podUID"])
    ]


def _held(holder: Mapping[str, Any]) -> str:
    parts = [grammar.singular(f"CPUs {holder['cpus']}")] if holder["cpus"] else []
    for block in holder["memory"]:
        nodes = ",".join(map(str, block["numaNodes"]))
        kind = "" if block["type"] == "memory" else f" of {block['type']}"
        on = grammar.singular(f"on NUMA nodes {nodes}")
        parts.append(f"{numbers.size(block['sizeBytes'])}{kind} {on}")
    parts += [f"{name} {', '.join(ids)}" for name, ids in holder["devices"].items()]
    return "; ".join(parts)


def _memory(sizes: Mapping[str, int]) -> str:
    parts = [numbers.size(sizes["memory"])] if "memory" in sizes else []
    for name, size_bytes in sorted(sizes.items()):
        if name != "memory":
            parts.append(f"{numbers.size(size_bytes)}({name.removeprefix('hugepages-')})")
    return "+".join(parts) or "-"


def _aligned(item: Mapping[str, Any]) -> str:
    match item["aligned"]:
        case None:
            return "-"
        case True:
            return "yes"
        case _:
            misplaced = item["misplacedBytes"]
            return f"no({numbers.size(misplaced)})" if misplaced else "no"


def _age(created: str | None, now: datetime) -> str:
    """Return the age of a pod; unknown for a pod of another owner."""
    return "-" if created is None else age(created, now)


def age(created: str, now: datetime) -> str:
    """Format an age in its largest unit, like kubectl: 113s, 5m, 3h, 2d."""
    seconds = max(0, int((now - datetime.fromisoformat(created)).total_seconds()))
    for size, unit in _UNITS:
        if seconds >= size * (2 if unit != "d" else 1):
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


COLUMNS: Final[Columns[Row]] = (
    Column("NAME", lambda row: _name(row[0])),
    Column("READY", lambda row: row[0]["ready"]),
    Column("STATUS", lambda row: _status(row[0])),
    Column("NUMA", lambda row: ",".join(map(str, row[0]["numaNodes"])) or "-"),
    Column("CPUS", lambda row: row[0]["cpus"] or "-"),
    Column("MEMORY", lambda row: _memory(row[0]["memory"])),
    Column("ALIGNED", lambda row: _aligned(row[0])),
    Column("AGE", lambda row: _age(row[0]["metadata"]["creationTimestamp"], row[1])),
)
_WIDE: Final[Columns[Row]] = (
    *COLUMNS,
    Column("GUARANTEE", lambda row: _levels(row[0])),
    Column("UID", lambda row: row[0]["metadata"]["uid"]),
)


def _colour(status: str) -> str | None:
    if not output.has_styles():
        return None
    return "green" if status in GOOD else "yellow" if status in WAITING else "red"
