"""Scales: round ticks, written figures, moments."""

from __future__ import annotations

from numalet.drawing import charts
from numalet.drawing.charts import Scale, Unit

GI = 1 << 30


def test_ticks_are_round_and_cover_what_there_is() -> None:
    assert charts.ticks(0, Unit.COUNT) == (0, 1)
    assert charts.ticks(3, Unit.COUNT) == (0, 1, 2, 3)
    assert charts.ticks(37, Unit.COUNT) == (0, 10, 20, 30, 40)
    assert charts.ticks(0, Unit.BYTES) == (0, 1)
    assert [Unit.BYTES.written(each) for each in charts.ticks(60 * GI, Unit.BYTES)] == [
        "0", "16Gi", "32Gi", "48Gi", "64Gi",
    ]  # fmt: skip


def test_figures_are_written_short() -> None:
    assert [Unit.COUNT.written(each) for each in (0, 1.5, 1200.0, 10)] == [
        "0",
        "1.5",
        "1,200",
        "10",
    ]


def test_a_scale_ends_at_its_last_tick() -> None:
    scale = Scale((0.0, 10.0), 100, 0)
    assert [scale.at_px(each) for each in (-1, 0, 5, 10, 11)] == [100, 100, 50, 0, 0]


def test_moments_are_round_and_few() -> None:
    assert charts.moments(3000, 10000, 4) == (3600, 7200)
    assert charts.moments(0, 86400 * 10, 6) == (0, 172800, 345600, 518400, 691200, 864000)
    assert charts.clock(36061) == "10:01"
    assert charts.clock(36061, with_seconds=True) == "10:01:01"
