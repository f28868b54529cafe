"""Every recorded scenario comes out as it was recorded; they are counted, so that none is lost."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from numalet.insight.usecases import replaying, scenario_file
from numalet.insight.usecases.replaying import FailedReport, PassedReport
from oracles import recordings
from oracles.release_recordings import STORE

CHUNK = 100
CHUNKS = [
    (name, start) for name, count in recordings.COUNTS.items() for start in range(0, count, CHUNK)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), CHUNKS)
def test_recorded_scenarios_come_out_as_recorded(name: str, start: int) -> None:
    raw = scenario_file.read_scenarios(str(recordings.path(name)))
    found: Counter[type] = Counter()
    for report in map(replaying.report, itertools.islice(raw, start, start + CHUNK)):
        if isinstance(report, FailedReport):
            pytest.fail(str(report.failure))
        found[type(report)] += 1
    assert Counter({PassedReport: min(CHUNK, recordings.COUNTS[name] - start)}) == found


@pytest.mark.parametrize("name", recordings.COUNTS)
def test_no_scenario_of_a_file_is_left_out(name: str) -> None:
    assert recordings.COUNTS[name] == sum(1 for _ in recordings.lines(name))


def test_the_first_page_counts_them_right() -> None:
    readme = Path(__file__).parents[2] / "README.md"
    later = [each.count for each in STORE.contents().values()]
    count = sum((*recordings.COUNTS.values(), *later))
    assert f"{count:,} recorded scenarios" in readme.read_text()
