"""The history page: admitted and refused pods, and free resources over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.dashboard import history_points
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import HistoryPoint
from numalet.drawing import time_charts
from numalet.drawing.charts import Unit
from numalet.drawing.time_charts import TimeBucket, TimeSeries, TimeSpan
from numalet.pages import templating
from numalet.wording import numbers

HOURS: Final = (1, 6, 24, 48)
_BUCKETS: Final = 24
_LONGEST_GAP_SECONDS: Final = 180
"""Without points for longer, the server was not running."""


def routes(shown: ShownSources) -> list[Route]:
    source = shown.node
    if source is None:
        return []

    async def page(request: Request) -> Response:
        text = request.query_params.get("hours", "1")
        hours = next((each for each in HOURS if str(each) == text), HOURS[0])
        now = shown.clock()
        points = [each for each in source.history() if each.at >= now - timedelta(hours=hours)]
        span = TimeSpan(now.timestamp() - hours * 3600, now.timestamp())
        return shown.page(
            "history.html",
            title="History",
            page="/history",
            hours=hours,
            choices=HOURS,
            is_empty=not points,
            drawings=[templating.trusted(each) for each in _drawings(points, span)],
            rows=_rows(points, span),
        )

    return [Route("/history", page)]


def _drawings(points: Sequence[HistoryPoint], span: TimeSpan) -> list[str]:
    if not points:
        return []
    counts = [
        TimeBucket(start, end, (("admitted", sum(each.admitted for each in of)), *refused.items()))
        for start, end, of in _buckets(points, span)
        for refused in (history_points.sums(of),)
    ]
    # The keys of all points: the machine may have changed in between.
    keys = list(dict.fromkeys(key for each in points for key in each.reserved_bytes))
    drawings = [time_charts.counts_over_time("Admitted, and refused by reason", counts, span)]
    for resource in dict.fromkeys(resource for _, resource in keys):
        own = [key for key in keys if key[1] == resource]
        title, series = (
            f"Reserved {resource} per NUMA node",
            [_reserved(points, key) for key in own],
        )
        drawings.append(time_charts.steps_over_time(title, series, span, Unit.BYTES))
    if any(each.misplaced_bytes for each in points):
        series = [_series("misplaced", [(each, each.misplaced_bytes) for each in points])]
        drawings.append(time_charts.steps_over_time("Misplaced memory", series, span, Unit.BYTES))
    return drawings


def _reserved(points: Sequence[HistoryPoint], key: tuple[int, str]) -> TimeSeries:
    figures = [(each, each.reserved_bytes.get(key)) for each in points]
    return _series(f"NUMA node {key[0]}", figures, _most(points[-1], key))


def _most(last: HistoryPoint, key: tuple[int, str]) -> int | None:
    """Return the allocatable amount, if the last point has it."""
    reserved, free = last.reserved_bytes.get(key), last.free_bytes.get(key)
    return None if reserved is None or free is None else reserved + free


def _series(
    name: str, figures: Sequence[tuple[HistoryPoint, int | None]], most: float | None = None
) -> TimeSeries:
    """Return steps that end at a gap."""
    corners: list[tuple[float, float | None]] = []
    for each, figure in figures:
        moment = each.at.timestamp()
        if corners and moment - corners[-1][0] > _LONGEST_GAP_SECONDS:
            # The last value is drawn for the longest gap, then the line breaks.
            corners.append((corners[-1][0] + _LONGEST_GAP_SECONDS, None))
        corners.append((moment, figure))
    return TimeSeries(name, tuple(corners), most)


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


def _rows(points: Sequence[HistoryPoint], span: TimeSpan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for _, _, of in reversed(_buckets(points, span)):
        if not of:
            continue
        last, refused = of[-1], history_points.sums(of)
        rows.append(
            (
                f"{last.at:%Y-%m-%d %H:%M:%S} (UTC)",
                str(sum(each.admitted for each in of)),
                ", ".join(f"{name} {count}" for name, count in refused.items()) or "0",
                "; ".join(
                    f"{node} {resource}: {numbers.rounded_size(size)} reserved,"
                    f" {numbers.rounded_size(last.free_bytes.get((node, resource), 0))} free"
                    for (node, resource), size in last.reserved_bytes.items()
                ),
                numbers.rounded_size(last.misplaced_bytes),
            )
        )
    return rows
