"""Charts over time: strips of figures below one another, and counts by name as columns.

All have the same place for the same time, so that one cursor can cross them.

Times are seconds since the epoch, and shown in UTC; the caller passes the current time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model.value import Value
from numalet.drawing import charts, sheets, svg
from numalet.drawing.charts import Scale, Unit

LEFT_PX: Final = 48
"""The width of the labels before the axis of time."""
_STRIP_PX: Final = 56
_BAR_PX: Final = (22, 48)
"""Top and ground of a strip's figures."""
_AXIS_PX: Final = 20
_GROUND_PX: Final = 104
_NAMED_HUES: Final = 6


class TimeSeries(Value):
    """Figures over time, which hold until the next one; times ascend, in seconds (epoch).

    A missing figure starts a gap. ``most`` is the limit, if any, such as the memory of the NUMA
    node.
    """

    name: str
    points: tuple[tuple[float, float | None], ...]
    most: float | None = None
    unit: Unit = Unit.COUNT


class TimeSpan(Value):
    """Start and end of a chart, in seconds since the epoch."""

    start_s: float
    end_s: float


def steps_over_time(
    title: str, series: Sequence[TimeSeries], span: TimeSpan, *, width_px: int = 960
) -> str:
    """Draw a strip for each series, as high as its limit: filled is used, empty is free."""
    height_px = sheets.TITLE_PX + len(series) * _STRIP_PX + _AXIS_PX
    picture = sheets.picture(width_px, height_px, title, steps_fact(series), "steps")
    sheets.heading(picture, title, width_px)
    across = _Across(span, LEFT_PX, width_px)
    for at, one in enumerate(series):
        top_px = sheets.TITLE_PX + at * _STRIP_PX
        steps = ";".join(f"{moment:.0f} {_said(one, value)}" for moment, value in one.points)
        group = svg.add(
            picture, "g", transform=f"translate(0 {top_px})", data_series=one.name,
            data_steps=steps,
        )  # fmt: skip
        _strip(group, one, across)
    axis = svg.add(picture, "g", transform=f"translate(0 {height_px - _AXIS_PX - 4})")
    _times(axis, across, 0)
    return svg.text_of(picture)


def steps_fact(series: Sequence[TimeSeries]) -> str:
    last = [f"{one.name} {_last(one)}" for one in series]
    return f"now: {', '.join(last)}" if last else "nothing to show"


def _said(one: TimeSeries, value: float | None) -> str:
    if value is None:
        return "not known"
    of = "" if one.most is None else f" of {one.unit.written(one.most)}"
    return f"{one.unit.written(value)}{of}"


def _last(one: TimeSeries) -> str:
    return _said(one, one.points[-1][1] if one.points else None)


def _strip(group: Element, one: TimeSeries, across: _Across) -> None:
    top_px, ground_px = _BAR_PX
    last = _last(one)
    svg.add(group, "text", last, css_class="end now", x=across.end_px, y=16)
    # The figure beside the name changes with the cursor.
    name = svg.shortened_text(one.name, (across.end_px - across.start_px) * 0.6)
    svg.named(svg.add(group, "text", name, x=across.start_px, y=16), one.name)
    known = [value for _, value in one.points if value is not None]
    scale = Scale((0.0, one.most or max([*known, 1.0])), ground_px, top_px)
    for run in _runs(one, across.span):
        line = [(across.at_px(moment), scale.at_px(value)) for moment, value in run]
        svg.add(
            group, "rect", css_class="free", x=line[0][0], y=top_px,
            width=line[-1][0] - line[0][0], height=ground_px - top_px,
        )  # fmt: skip
        mark = svg.add(group, "path", css_class="area", d=_path(line, ground_px))
        svg.named(mark, f"{one.name}: {last}")
        svg.add(group, "path", css_class="step", d=_path(line))


class _Across(Value):
    span: TimeSpan
    start_px: float
    end_px: float

    def at_px(self, moment_s: float) -> float:
        length_s = max(self.span.end_s - self.span.start_s, 1.0)
        share = min(max((moment_s - self.span.start_s) / length_s, 0.0), 1.0)
        return self.start_px + share * (self.end_px - self.start_px)


def _runs(one: TimeSeries, span: TimeSpan) -> list[list[tuple[float, float]]]:
    """Return stretches without a gap, as the corners of their steps."""
    # A figure holds until the next one, and the last one until the end of the chart.
    ends = [*(moment for moment, _ in one.points[1:]), span.end_s][: len(one.points)]
    runs: list[list[tuple[float, float]]] = []
    is_open = False
    for (moment, value), end in zip(one.points, ends, strict=True):
        # Points outside the span are left out, but a figure that lasts into it is kept.
        if value is not None and end > span.start_s and moment < span.end_s:
            if not is_open:
                runs.append([])
            runs[-1] += [(moment, value), (end, value)]
        is_open = value is not None and bool(runs)
    return runs


def _path(line: Sequence[tuple[float, float]], ground_px: float | None = None) -> str:
    corners = list(line)
    if ground_px is not None:
        corners = [(line[0][0], ground_px), *line, (line[-1][0], ground_px)]
    points = "L".join(f"{svg.number(x)} {svg.number(y)}" for x, y in corners)
    return f"M{points}" + ("" if ground_px is None else "Z")


def _times(group: Element, across: _Across, ground_px: float) -> None:
    """Draw a few times below the chart and their zone, without those whose text would leave it."""
    svg.add(group, "text", "UTC", css_class="small end", x=across.start_px - 8, y=ground_px + 18)
    room_px = across.end_px - across.start_px
    span = across.span

    def fitting(text: str) -> tuple[float, tuple[float, ...]]:
        half_px = svg.text_width_px(text, "small") / 2
        most = max(2, int(room_px // (half_px * 4)))
        return half_px, charts.moments(span.start_s, span.end_s, most)

    half_px, moments = fitting("00:00")
    # Seconds only where times without them would repeat.
    if with_seconds := any(moment % 60 for moment in moments):
        half_px, moments = fitting("00:00:00")
    for moment in moments:
        at_px = across.at_px(moment)
        if across.start_px + half_px <= at_px <= across.end_px - half_px:
            svg.add(
                group, "line", css_class="grid", x1=at_px, y1=ground_px, x2=at_px, y2=ground_px + 4
            )
            words = charts.clock(moment, with_seconds=with_seconds)
            svg.add(group, "text", words, css_class="small middle", x=at_px, y=ground_px + 18)


class TimeBucket(Value):
    """Counts by name between two times, in seconds since the epoch."""

    start_s: float
    end_s: float
    counts: tuple[tuple[str, int], ...]


def counts_over_time(
    title: str, buckets: Sequence[TimeBucket], span: TimeSpan, *, width_px: int = 960
) -> str:
    """Draw a column per stretch of time, with its parts by name: rejections by reason."""
    sums = counts_by_name(buckets)
    classes = {
        name: f"hue-{at + 1}" if at < _NAMED_HUES else "holder" for at, name in enumerate(sums)
    }
    named = {f"{name} {count}": classes[name] for name, count in sums.items()}
    top_px = sheets.TITLE_PX + sheets.legend_px(named, width_px)
    height_px = top_px + 136
    picture = sheets.picture(width_px, height_px, title, counts_fact(sums), "counts")
    sheets.heading(picture, title, width_px)
    sheets.legend(picture, named, width_px, sheets.TITLE_PX)
    group = svg.add(picture, "g", transform=f"translate(0 {top_px})")
    most = max((sum(count for _, count in each.counts) for each in buckets), default=0)
    ticks = charts.ticks(most, Unit.COUNT, 2)
    labels = [Unit.COUNT.written(tick) for tick in ticks]
    scale, across = Scale(ticks, _GROUND_PX, 16), _Across(span, LEFT_PX, width_px)
    for tick, label in zip(ticks, labels, strict=True):
        y = scale.at_px(tick)
        svg.add(group, "line", css_class="grid", x1=LEFT_PX, y1=y, x2=width_px, y2=y)
        svg.add(group, "text", label, css_class="small end", x=LEFT_PX - 8, y=y + 4)
    for bucket in buckets:
        _column(group, bucket, classes, scale, across)
    _times(group, across, _GROUND_PX)
    return svg.text_of(picture)


def counts_by_name(buckets: Sequence[TimeBucket]) -> dict[str, int]:
    """Return the total for each name, the largest first."""
    sums: dict[str, int] = {}
    for bucket in buckets:
        for name, count in bucket.counts:
            sums[name] = sums.get(name, 0) + count
    return dict(sorted(sums.items(), key=lambda each: (-each[1], each[0])))


def counts_fact(sums: dict[str, int]) -> str:
    if not sums:
        return "none"
    name = next(iter(sums))
    return f"{sum(sums.values())} in all, most of them {name} ({sums[name]})"


def _column(
    group: Element, bucket: TimeBucket, classes: dict[str, str], scale: Scale, across: _Across
) -> None:
    left_px, right_px = across.at_px(bucket.start_s), across.at_px(bucket.end_s)
    gap_px = 1 if right_px - left_px > 4 else 0
    wide_px = max(right_px - left_px - gap_px, 0.0)
    is_short = bucket.end_s - bucket.start_s < 60
    ends = (bucket.start_s, bucket.end_s)
    when = " to ".join(charts.clock(each, with_seconds=is_short) for each in ends) + " UTC"
    so_far = 0
    for name, count in sorted(bucket.counts, key=lambda each: [*classes].index(each[0])):
        bottom_px, top_px = scale.at_px(so_far), scale.at_px(so_far + count)
        mark = svg.add(
            group, "rect", css_class=f"{classes[name]} part", x=left_px, y=top_px,
            width=wide_px, height=bottom_px - top_px,
        )  # fmt: skip
        sheets.mark_letter(group, classes[name], left_px, top_px, wide_px, bottom_px - top_px)
        svg.named(mark, f"{when}: {name} {count}")
        so_far += count
