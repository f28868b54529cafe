"""The table of pods, the page of a pod, and the node after a possible change."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.dashboard import widths
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import Level, NodeSource, NodeView, PodRow
from numalet.dashboard.why import Explanations
from numalet.drawing import hint_matrix
from numalet.insight.maps.node_map import MapPod
from numalet.pages import templating


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
            self.text.lower() in f"{row.title} {row.reason} {row.pod.uid}".lower()
            and self.status in ("", row.status)
            and self.qos in ("", line.qos)
            and self.namespace in ("", row.pod.namespace)
            and (not self.node or self.node in {str(each) for each in line.nodes})
        )

    def query(self, **other: str) -> str:
        values = {name: getattr(self, name) for name in _FIELDS} | other
        return urlencode({name: value for name, value in values.items() if value})


_FIELDS: Final = ("text", "status", "qos", "node", "namespace", "sort", "order")

_ORDER: Final = (Level.BAD, Level.WARNING, Level.GOOD)
_KEYS: Final[Mapping[str, Callable[[ShownPod], Any]]] = {
    "pod": lambda line: (line.row.pod.namespace, line.row.pod.name),
    "status": lambda line: line.row.status,
    "trouble": lambda line: _ORDER.index(line.row.level),
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
    filled: frozenset[str] = frozenset()
    """Columns with a value for some pod of the node; others are left out."""

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


def pod_table(view: NodeView, wanted: Filter, now: datetime) -> ShownPods:
    every = pod_lines(view, now)
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
        namespaces=sorted({line.row.pod.namespace for line in every} - {""}),
        nodes=[block.node_id for block in view.chart.nodes],
        filled=_filled(every),
    )


def _filled(lines: Sequence[ShownPod]) -> frozenset[str]:
    containers = [each for line in lines for each in line.row.containers]
    filled = {
        "memory": any(line.memory_bytes for line in lines),
        "actual": any(line.actual is not None for line in lines),
        "restarts": any(each.restarts is not None for each in containers),
        "age": any(line.age for line in lines),
    }
    return frozenset(name for name, is_filled in filled.items() if is_filled)


def pod_lines(view: NodeView, now: datetime, only: PodRow | None = None) -> list[ShownPod]:
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


_NO_POD = "Pod not found on this node; it may have been deleted."
_NO_WAY_OUT = (
    "This change is not available any more: the node has changed. Open the page of the pod."
)
_MOST_LOG_BYTES: Final = 64 * 1024
MOST_LOG_LINES: Final = 200
_LOG_HEAD: Final = re.compile(r"(\d{4}-\d\d-\d\dT\S+) (stdout|stderr) [PF](?::\S*)? ")


def routes(shown: ShownSources) -> list[Route]:
    source = shown.node
    if source is None:
        return []
    explanations = Explanations()

    async def pods(request: Request) -> Response:
        wanted = read_filter(request.query_params)
        table = pod_table(source.view(), wanted, shown.clock())
        return shown.page("pods.html", title="Pods", page="/pods", table=table)

    async def pod(request: Request) -> Response:
        view = source.view()
        row = _row(view, request)
        if row is None:
            return shown.message(_NO_POD, 404)
        name, line = row.title, pod_lines(view, shown.clock(), only=row)[0]
        # A pod that has ended is not part of the node's state any more.
        has_story = row.is_rejected or (row.pod.uid in view.node.snapshot.pods)
        why = await explanations.of(view, row) if has_story else None
        hints = why.hints if why is not None else ()
        return shown.page(
            "pod.html",
            title=name,
            page="/pods",
            row=row,
            line=line,
            filled=_filled([line]),
            why=why,
            matrices=[templating.trusted(hint_matrix.draw(each)) for each in hints],
            **widths.drawn(view.chart, request.query_params),
            holds=view.chart.pod(row.pod.uid),
            others=[each for each in view.chart.pods if each.uid != row.pod.uid],
            events=[event for event in reversed(view.events) if event.pod == name][:50],
            logs=await asyncio.to_thread(_logs, source, row),
        )

    async def way_out(request: Request) -> Response:
        view = source.view()
        row = _row(view, request)
        if row is None:
            return shown.message(_NO_POD, 404)
        ways = (await explanations.of(view, row)).ways_out if row.is_rejected else ()
        number = request.path_params["number"]
        if not 1 <= number <= len(ways):
            return shown.message(_NO_WAY_OUT, 404)
        way = ways[number - 1]
        return shown.page(
            "way_out.html",
            title=f"{row.title}, with this change",
            page="/pods",
            row=row,
            way=way,
            **widths.drawn(way.chart, request.query_params),
        )

    return [
        Route("/pods", pods),
        Route("/pods/{namespace}/{name}", pod),
        Route("/pods/{namespace}/{name}/ways-out/{number:int}", way_out),
    ]


def _row(view: NodeView, request: Request) -> PodRow | None:
    # A path has no empty part: the namespace of an unknown pod is "-".
    namespace = request.path_params["namespace"].removeprefix("-")
    name = request.path_params["name"]
    # A name may be used again; the last row is the current pod.
    return next(
        (
            row
            for row in reversed(view.rows)
            if row.pod.namespace == namespace and row.pod.name == name
        ),
        None,
    )


def _logs(source: NodeSource, row: PodRow) -> list[tuple[str, str]]:
    """Return container names with the end of their output, without empty ones."""
    logs = []
    for container in row.pod.containers():
        path = source.log_path(ContainerKey(row.pod.uid, container.name))
        text = None if path is None else log_tail(path)
        if text is not None:
            logs.append((container.name, text))
    return logs


def log_tail(path: Path) -> str | None:
    """Return the last lines of a file, if it can be read."""
    try:
        with path.open("rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            start = max(size_bytes - _MOST_LOG_BYTES, 0)
            file.seek(start)
            text = file.read(_MOST_LOG_BYTES).decode(errors="replace")
    except OSError:
        return None
    lines = text.split("\n")
    # The first line is cut off unless the file was read from its beginning.
    if start:
        lines = lines[1:]
    is_ended = lines[-1:] == [""]
    # A final newline gives one more element, which is not a line.
    return "\n".join(map(_readable, lines[-(MOST_LOG_LINES + is_ended) :]))


def _readable(line: str) -> str:
    """Shorten the head that a runtime writes before each line (the CRI's log format)."""
    head = _LOG_HEAD.match(line)
    if head is None:
        return line
    try:
        at = datetime.fromisoformat(head[1]).astimezone(UTC)
    except ValueError:
        return line
    stream = "stderr: " if head[2] == "stderr" else ""
    return f"{at:%H:%M:%S} {stream}{line[head.end() :]}"
