"""Pods as lines of a table whose columns stay aligned while a watch adds lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import typer

from numalet.cli.output import printable
from numalet.cli.tables import Column, Columns
from numalet.wording import numbers
from numalet.wording.kubelet import UNPROMISED

_STATUS: Final = 2
_GAP: Final = "   "
_GOOD: Final = ("Running", "Completed", "Succeeded")
_WAITING: Final = ("Pending", "ContainerCreating", "PodInitializing", "Terminating")
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "m"))


class PodTable:
    """A table of pods. Its first lines determine the widths of the columns."""

    def __init__(self, items: Sequence[Mapping[str, Any]], now: datetime, *, is_wide: bool) -> None:
        self._now = now
        self._columns = _WIDE if is_wide else _COLUMNS
        self._heads = [each.name for each in self._columns]
        rows = [self._heads, *(self._cells(item, now) for item in items)]
        self._widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def text(self, items: Sequence[Mapping[str, Any]]) -> str:
        """Return header and lines."""
        head = _GAP.join(map(str.ljust, self._heads, self._widths)).rstrip() + "\n"
        return head + "".join(self.line(item, self._now) for item in items)

    def line(self, item: Mapping[str, Any], now: datetime, *, gone: bool = False) -> str:
        """Return one line; a deleted pod has the status Gone."""
        cells = self._cells(item, now)
        if gone:
            cells[_STATUS] = "Gone"
        padded = list(map(str.ljust, cells, self._widths))
        padded[_STATUS] = _coloured(padded[_STATUS])
        return _GAP.join(padded).rstrip() + "\n"

    def _cells(self, item: Mapping[str, Any], now: datetime) -> list[str]:
        return [printable(str(each.cell((item, now)))) for each in self._columns]


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
    parts = [f"CPUs {holder['cpus']}"] if holder["cpus"] else []
    for block in holder["memory"]:
        nodes = ",".join(map(str, block["numaNodes"]))
        kind = "" if block["type"] == "memory" else f" of {block['type']}"
        parts.append(f"{numbers.size(block['sizeBytes'])}{kind} on NUMA nodes {nodes}")
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


_COLUMNS: Final[Columns[tuple[Mapping[str, Any], datetime]]] = (
    Column("NAME", lambda row: _name(row[0])),
    Column("READY", lambda row: row[0]["ready"]),
    Column("STATUS", lambda row: _status(row[0])),
    Column("NUMA", lambda row: ",".join(map(str, row[0]["numaNodes"])) or "-"),
    Column("CPUS", lambda row: row[0]["cpus"] or "-"),
    Column("MEMORY", lambda row: _memory(row[0]["memory"])),
    Column("ALIGNED", lambda row: _aligned(row[0])),
    Column("AGE", lambda row: _age(row[0]["metadata"]["creationTimestamp"], row[1])),
)
_WIDE: Final[Columns[tuple[Mapping[str, Any], datetime]]] = (
    *_COLUMNS,
    Column("GUARANTEE", lambda row: _levels(row[0])),
    Column("UID", lambda row: row[0]["metadata"]["uid"]),
)


def _coloured(padded: str) -> str:
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return padded
    status = padded.strip()
    colour = "green" if status in _GOOD else "yellow" if status in _WAITING else "red"
    return typer.style(padded, fg=colour)
