"""The history page: what happened to pods, below charts of decisions and of used resources."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.core.model import resources
from numalet.dashboard import history_points, widths
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import ELSEWHERE, Happened, HistoryEvent, HistoryPoint
from numalet.drawing import time_charts
from numalet.drawing.charts import Unit
from numalet.drawing.time_charts import TimeBucket, TimeSeries, TimeSpan
from numalet.pages import templating

HOURS: Final = (1, 6, 24, 48)
_BUCKETS: Final = 24
_MOST_STRIPS: Final = 12
_MOST_EVENTS: Final = 2000
_SHORTEST: Final = timedelta(minutes=5)
_LONGEST_GAP_SECONDS: Final = 180
"""Without points for longer, the server was not running."""


def routes(shown: ShownSources) -> list[Route]:
    source = shown.node
    if source is None:
        return []

    async def page(request: Request) -> Response:
        text = request.query_params.get("hours", "1")
        hours = next((each for each in HOURS if str(each) == text), HOURS[0])
        width = widths.of_address(request.query_params)
        now = shown.clock()
        points = [each for each in source.history() if each.at >= now - timedelta(hours=hours)]
        events = [event for each in points for event in each.events]
        events.sort(key=lambda event: event.at)
        # On a young server the charts show its own time, not an hour without figures.
        first = min([now - _SHORTEST, *(each.at for each in points)])
        span = TimeSpan(first.timestamp(), now.timestamp())
        return shown.page(
            "history.html",
            title="History",
            page="/history",
            hours=hours,
            choices=HOURS,
            width=width,
            is_empty=not points,
            charts=charts(points, span, width.px),
            events=events[: -_MOST_EVENTS - 1 : -1],
            event_count=len(events),
            known={row.title for row in source.view().rows},
        )

    return [Route("/history", page)]


def charts(points: Sequence[HistoryPoint], span: TimeSpan, width_px: int) -> dict[str, Any]:
    """Return the drawings with their common axis of time: its ends, and where it begins."""
    counts = [
        TimeBucket(start, end, (("admitted", sum(each.admitted for each in of)), *rejected.items()))
        for start, end, of in _buckets(points, span)
        for rejected in (history_points.sums(of),)
    ]
    drawings = [
        time_charts.counts_over_time(
            "Admitted, and rejected by reason", counts, span, width_px=width_px
        )
    ]
    if strips := _strips(points):
        title = "What pods have alone, on each NUMA node"
        drawings.append(time_charts.steps_over_time(title, strips, span, width_px=width_px))
    return {
        "drawings": [templating.trusted(each) for each in drawings],
        "span": span,
        "left": time_charts.LEFT_PX / width_px,
        "width": width_px,
    }


def _strips(points: Sequence[HistoryPoint]) -> list[TimeSeries]:
    """Return used amounts by resource and NUMA node, or by resource if there are many."""
    # The keys of all points: the machine may have changed in between.
    keys = sorted({key for each in points for key in each.used}, key=lambda key: (key[1], key[0]))
    named: dict[str, list[tuple[int, str]]] = {}
    for node, resource in keys:
        name = "CPUs" if resource == resources.CPU else resource
        if len(keys) <= _MOST_STRIPS:
            name += ", NUMA node " + (str(node) if node != ELSEWHERE else "not one alone")
        named.setdefault(name, []).append((node, resource))
    strips = []
    for name, some in named.items():
        _, resource = some[0]
        scale = 1000 if resource == resources.CPU else 1
        unit = Unit.BYTES if resources.is_memory_type(resource) else Unit.COUNT
        figures = [
            (each, sum(each.used.get(key, 0) for key in some) / scale)
            if any(key in each.used for key in some)
            else (each, None)
            for each in points
        ]
        last = points[-1]
        most = sum(last.used.get(key, 0) + last.free.get(key, 0) for key in some) / scale
        strips.append(_series(name, figures, most or None, unit))
    if any(each.misplaced_bytes for each in points):
        figures = [(each, each.misplaced_bytes) for each in points]
        strips.append(_series("misplaced memory", figures, None, Unit.BYTES))
    return strips


def _series(
    name: str,
    figures: Sequence[tuple[HistoryPoint, float | None]],
    most: float | None,
    unit: Unit,
) -> TimeSeries:
    """Return steps that end at a gap, without those that change nothing."""
    corners: list[tuple[float, float | None]] = []
    last = 0.0
    for each, figure in figures:
        moment = each.at.timestamp()
        if corners and moment - last > _LONGEST_GAP_SECONDS:
            # The last value is drawn for the longest gap, then the line breaks.
            corners.append((last + _LONGEST_GAP_SECONDS, None))
        if not corners or corners[-1][1] != figure:
            corners.append((moment, figure))
        last = moment
    return TimeSeries(name, tuple(corners), most, unit)


def _buckets(
    points: Sequence[HistoryPoint], span: TimeSpan
) -> list[tuple[float, float, list[HistoryPoint]]]:
    length = (span.end_s - span.start_s) / _BUCKETS
    buckets: list[list[HistoryPoint]] = [[] for _ in range(_BUCKETS)]
    for each in points:
        at = int((each.at.timestamp() - span.start_s) // length)
        buckets[min(max(at, 0), _BUCKETS - 1)].append(each)
    return [
        (span.start_s + at * length, span.start_s + (at + 1) * length, of)
        for at, of in enumerate(buckets)
    ]


_BEGAN: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
_SAMPLE: Final = [
    HistoryPoint(
        _BEGAN + timedelta(minutes=7 * at),
        at % 3,
        {"TopologyAffinityError": 1} if what is Happened.REJECTED else {},
        {(0, "cpu"): 1000 * at, (0, "memory"): at << 30},
        {(0, "cpu"): 8000 - 1000 * at, (0, "memory"): 8 - at << 30},
        0,
        (HistoryEvent(_BEGAN + timedelta(minutes=7 * at), what, "ns/pod", "about it"),),
    )
    for at, what in enumerate(Happened)
]
"""A history with every kind of event, for the page of the design."""


def sample() -> dict[str, Any]:
    span = TimeSpan(_BEGAN.timestamp(), _BEGAN.timestamp() + 3600)
    events = [event for each in reversed(_SAMPLE) for event in each.events]
    return {"charts": charts(_SAMPLE, span, widths.DrawnWidth().px), "events": events}
