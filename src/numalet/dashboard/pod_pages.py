"""The table of pods, the page of a pod, and the node after a possible change."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.core.model.pod import ContainerKey
from numalet.dashboard import pod_table
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import NodeSource, NodeView, PodRow
from numalet.dashboard.why import Explanations
from numalet.drawing import hint_matrix, node_drawing
from numalet.pages import templating

_NO_POD = "Pod not found on this node; it may have been deleted."
_NO_WAY_OUT = (
    "This change is not available any more: the node has changed. Open the page of the pod."
)
_MOST_LOG_BYTES: Final = 64 * 1024
MOST_LOG_LINES: Final = 200


def routes(shown: ShownSources) -> list[Route]:
    source = shown.node
    if source is None:
        return []
    explanations = Explanations()

    async def pods(request: Request) -> Response:
        wanted = pod_table.read_filter(request.query_params)
        table = pod_table.table(source.view(), wanted, shown.clock())
        return shown.page("pods.html", title="Pods", page="/pods", table=table)

    async def pod(request: Request) -> Response:
        view = source.view()
        row = _row(view, request)
        if row is None:
            return shown.message(_NO_POD, 404)
        name = f"{row.pod.namespace}/{row.pod.name}"
        # A pod that has ended is not part of the node's state any more.
        has_story = row.is_rejected or (row.pod.uid in view.node.snapshot.pods)
        why = await explanations.of(view, row) if has_story else None
        return shown.page(
            "pod.html",
            title=name,
            page="/pods",
            row=row,
            line=pod_table.lines(view, shown.clock(), only=row)[0],
            why=why,
            matrices=[templating.trusted(hint_matrix.draw(each)) for each in why.hints]
            if why is not None
            else [],
            drawing=templating.trusted(node_drawing.draw(view.chart)),
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
            title=f"{row.pod}, with this change",
            page="/pods",
            row=row,
            way=way,
            drawing=templating.trusted(node_drawing.draw(way.chart)),
        )

    return [
        Route("/pods", pods),
        Route("/pods/{namespace}/{name}", pod),
        Route("/pods/{namespace}/{name}/ways-out/{number:int}", way_out),
    ]


def _row(view: NodeView, request: Request) -> PodRow | None:
    namespace, name = request.path_params["namespace"], request.path_params["name"]
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
    return "\n".join(lines[-(MOST_LOG_LINES + is_ended) :])
