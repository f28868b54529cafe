"""Charts over time: steps with gaps, columns by name, a few moments."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from numalet.drawing import time_charts
from numalet.drawing.charts import Unit
from numalet.drawing.time_charts import TimeBucket, TimeSeries, TimeSpan

GI = 1 << 30
HOUR = TimeSpan(36000.0, 39600.0)


def test_steps_hold_until_the_next_figure_and_gaps_are_left_out() -> None:
    one = TimeSeries(
        "node 0",
        ((30000.0, 1.0), (36900.0, 2.0), (37000.0, None), (37500.0, 4.0), (50000.0, 1.0)),
    )
    picture = ElementTree.fromstring(time_charts.steps_over_time("Free", [one], HOUR))
    lines = [each.attrib["d"] for each in picture.iter() if each.attrib.get("class") == "step"]
    assert [line.count("L") for line in lines] == [3, 1]
    assert picture[1].text == "now: node 0 1"
    grounds = [each for each in picture.iter() if each.attrib.get("class") == "free"]
    assert len(grounds) == 2


def test_strips_are_below_one_another_and_as_high_as_their_limits() -> None:
    series = [
        TimeSeries(f"node {at}", ((36000.0, at * GI),), 4.0 * GI, Unit.BYTES) for at in range(3)
    ]
    picture = ElementTree.fromstring(time_charts.steps_over_time("Used", series, HOUR))
    assert float(picture.attrib["height"]) == 28 + 3 * 56 + 20
    assert picture[1].text == "now: node 0 0 of 4Gi, node 1 1Gi of 4Gi, node 2 2Gi of 4Gi"
    steps = [each.attrib["data-steps"] for each in picture.iter() if "data-steps" in each.attrib]
    assert steps == ["36000 0 of 4Gi", "36000 1Gi of 4Gi", "36000 2Gi of 4Gi"]
    areas = [each.attrib["d"] for each in picture.iter() if each.attrib.get("class") == "area"]
    assert [area.split("L")[1] for area in areas] == ["48 48", "48 41.5", "48 35"]


def test_a_series_without_figures_is_not_known() -> None:
    picture = ElementTree.fromstring(
        time_charts.steps_over_time("Free", [TimeSeries("node 0", ())], HOUR)
    )
    assert picture[1].text == "now: node 0 not known"
    empty = ElementTree.fromstring(time_charts.steps_over_time("Free", [], HOUR))
    assert empty[1].text == "nothing to show"


def test_counts_by_name_are_columns() -> None:
    buckets = [
        TimeBucket(36000.0, 37800.0, (("b", 1), ("a", 3))),
        TimeBucket(37800.0, 39600.0, (("b", 1),)),
    ]
    picture = ElementTree.fromstring(time_charts.counts_over_time("Rejected", buckets, HOUR))
    titles = [each[0].text for each in picture.iter() if len(each) and each.tag.endswith("rect")]
    assert titles == [
        "10:00 to 10:30 UTC: a 3", "10:00 to 10:30 UTC: b 1", "10:30 to 11:00 UTC: b 1",
    ]  # fmt: skip
    assert picture[1].text == "5 in all, most of them a (3)"


def test_the_seventh_name_is_neutral_and_no_counts_are_none() -> None:
    counts = tuple((f"reason-{at}", 9 - at) for at in range(7))
    bucket = TimeBucket(36000.0, 36001.0, counts)
    picture = ElementTree.fromstring(
        time_charts.counts_over_time("Rejected", [bucket], HOUR, width_px=400)
    )
    classes = [
        each.attrib["class"] for each in picture.iter() if len(each) and each.tag.endswith("rect")
    ]
    assert classes[-2:] == ["hue-6 part", "holder part"]
    empty = ElementTree.fromstring(time_charts.counts_over_time("Rejected", [], HOUR))
    assert empty[1].text == "none"


def test_short_spans_show_seconds() -> None:
    span = TimeSpan(36000.0, 36060.0)
    picture = ElementTree.fromstring(time_charts.counts_over_time("Rejected", [], span))
    texts = [each.text for each in picture.iter()]
    assert "10:00:30" in texts
    assert texts.count("UTC") == 1


@pytest.mark.parametrize("width_px", [360, 960, 1600])
@pytest.mark.parametrize("length_s", [120, 300, 660, 900, 3600])
def test_no_two_times_of_an_axis_read_alike(length_s: float, width_px: int) -> None:
    span = TimeSpan(36007.0, 36007.0 + length_s)
    buckets = [TimeBucket(36010.0, 36022.0, (("admitted", 1),))]
    picture = ElementTree.fromstring(
        time_charts.counts_over_time("Admitted", buckets, span, width_px=width_px)
    )
    times = [each.text for each in picture.iter() if (each.text or "").startswith("10:")]
    assert len({*times}) == len(times) > 1
    (column,) = (each for each in picture.iter() if "part" in each.get("class", ""))
    assert column[0].text == "10:00:10 to 10:00:22 UTC: admitted 1"
