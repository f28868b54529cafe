"""The table of pods, filtered and sorted by the query. Sizes are in bytes.

An unknown filter value matches no line; an unknown order is the default one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from numalet.core.model.value import Value, field
from numalet.dashboard.sources import NodeView, PodRow
from numalet.insight.maps.node_map import MapPod


class ShownPod(Value, kw_only=True):
    """One pod of the table; ``promised`` and ``actual`` are bytes by NUMA nodes."""

    row: PodRow
    holds: MapPod | None
    nodes: tuple[int, ...]
    cpus: int
    memory_bytes: int
    promised: Mapping[str, int]
    actual: Mapping[int, int] | None
    misplaced_bytes: int
    restarts: int
    age: str
    age_seconds: float

    @property
    def qos(self) -> str:
        return self.row.pod.qos_class.value


class Filter(Value, kw_only=True):
    text: str = ""
    status: str = ""
    qos: str = ""
    node: str = ""
    namespace: str = ""
    sort: str = ""
    order: str = ""

    def admits(self, line: ShownPod) -> bool:
        row = line.row
        return (
            self.text.lower() in f"{row.pod} {row.reason} {row.pod.uid}".lower()
            and self.status in ("", row.status)
            and self.qos in ("", line.qos)
            and self.namespace in ("", row.pod.namespace)
            and (not self.node or self.node in {str(each) for each in line.nodes})
        )

    def query(self, **other: str) -> str:
        values = {name: getattr(self, name) for name in _FIELDS} | other
        return urlencode({name: value for name, value in values.items() if value})


_FIELDS: Final = ("text", "status", "qos", "node", "namespace", "sort", "order")

_KEYS: Final[Mapping[str, Callable[[ShownPod], Any]]] = {
    "pod": lambda line: (line.row.pod.namespace, line.row.pod.name),
    "status": lambda line: line.row.status,
    "qos": lambda line: line.qos,
    "nodes": lambda line: line.nodes,
    "cpus": lambda line: line.cpus,
    "memory": lambda line: line.memory_bytes,
    "misplaced": lambda line: line.misplaced_bytes,
    "restarts": lambda line: line.restarts,
    "age": lambda line: line.age_seconds,
}


class ShownPods(Value, kw_only=True):
    """The shown lines, the number of all, and the choices of the filters."""

    lines: list[ShownPod]
    count: int
    filter: Filter
    statuses: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)

    def sorting(self, column: str) -> str:
        """Return the query that sorts by this column, reversed if it already does."""
        is_back = self.filter.sort == column and self.filter.order != "down"
        return self.filter.query(sort=column, order="down" if is_back else "")

    def direction(self, column: str) -> str:
        """Return the value of ``aria-sort``."""
        if self.filter.sort != column:
            return "none"
        return "descending" if self.filter.order == "down" else "ascending"


def read_filter(query: Mapping[str, str]) -> Filter:
    """Parse a query; texts are cut at 200 characters."""
    return Filter(**{name: query.get(name, "").strip()[:200] for name in _FIELDS})


def table(view: NodeView, wanted: Filter, now: datetime) -> ShownPods:
    every = lines(view, now)
    shown = [line for line in every if wanted.admits(line)]
    if wanted.sort in _KEYS:
        # Stable: equal rows stay in the order of acceptance.
        shown.sort(key=_KEYS[wanted.sort], reverse=wanted.order == "down")
    return ShownPods(
        lines=shown,
        count=len(every),
        filter=wanted,
        statuses=sorted({line.row.status for line in every}),
        classes=sorted({line.qos for line in every}),
        namespaces=sorted({line.row.pod.namespace for line in every}),
        nodes=[block.node_id for block in view.chart.nodes],
    )


def lines(view: NodeView, now: datetime, only: PodRow | None = None) -> list[ShownPod]:
    holders = {pod.uid: pod for pod in view.chart.pods}
    rows = view.rows if only is None else (only,)
    return [_line(row, holders.get(row.pod.uid), now) for row in rows]


def _line(row: PodRow, holds: MapPod | None, now: datetime) -> ShownPod:
    promised: dict[str, int] = {}
    actual: dict[int, int] | None = None
    for container in row.containers:
        if container.promised_bytes:
            nodes = ", ".join(map(str, container.promised_nodes))
            size_bytes = sum(container.promised_bytes.values())
            promised[nodes] = promised.get(nodes, 0) + size_bytes
        if container.actual_bytes is not None:
            actual = {} if actual is None else actual
            for node_id, size_bytes in container.actual_bytes.items():
                actual[node_id] = actual.get(node_id, 0) + size_bytes
    seconds = 0.0 if row.created_at is None else (now - row.created_at).total_seconds()
    return ShownPod(
        row=row,
        holds=holds,
        nodes=() if holds is None else holds.nodes,
        cpus=0 if holds is None else len(holds.cpus),
        memory_bytes=0 if holds is None else sum(holds.memory_bytes.values()),
        promised=promised,
        actual=actual,
        misplaced_bytes=sum(each.misplaced_bytes or 0 for each in row.containers),
        restarts=sum(each.restarts or 0 for each in row.containers),
        age="" if row.created_at is None else age(seconds),
        age_seconds=seconds,
    )


def age(seconds: float) -> str:
    """Return an age in its largest unit: ``45s``, ``12m``, ``3h``, ``5d``."""
    left = max(int(seconds), 0)
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if left >= size:
            return f"{left // size}{unit}"
    return f"{left}s"
