"""Every recorded scenario comes out as it was recorded; they are counted, so that none is lost."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from numalet.adapters import replaying
from numalet.adapters.documents import scenario_file
from numalet.adapters.replaying import FailedReport, PassedReport, SkippedReport, UnusableReport

DATA = Path(__file__).parent / "data"
CHUNK = 100


class Expected(NamedTuple):
    """How many scenarios a file has, and how many of them are replayed at least."""

    scenarios: int
    passed: int


FILES = {
    "memory": Expected(780, 780),
    "startup": Expected(460, 460),
    "topology": Expected(545, 545),
    "restart": Expected(368, 368),
    "cpu": Expected(760, 760),
    "device": Expected(381, 381),
    "mixed": Expected(361, 361),
}
CHUNKS = [
    (name, start) for name, file in FILES.items() for start in range(0, file.scenarios, CHUNK)
]


@cache
def counts(name: str, start: int) -> Counter[type]:
    """What became of one chunk of a file; fails at once where something else came out."""
    found: Counter[type] = Counter()
    for report in chunk(name, start):
        match report:
            case FailedReport():
                pytest.fail(f"{report.name}: {report.difference}")
            case UnusableReport():
                pytest.fail("\n".join(report.problems))
            case PassedReport() | SkippedReport():
                found[type(report)] += 1
    return found


def chunk(name: str, start: int) -> Iterator[replaying.Report]:
    """Reports of the scenarios of one chunk."""
    raw = scenario_file.read_scenarios(str(DATA / f"vectors-{name}.jsonl.gz"))
    yield from map(replaying.report, itertools.islice(raw, start, start + CHUNK))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), CHUNKS)
def test_recorded_scenarios_come_out_as_recorded(name: str, start: int) -> None:
    expected = min(CHUNK, FILES[name].scenarios - start)
    assert expected == counts(name, start).total()


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_enough_scenarios_of_each_file_are_replayed(name: str) -> None:
    total: Counter[type] = Counter()
    for each, start in CHUNKS:
        if each == name:
            total += counts(name, start)
    assert total[PassedReport] >= FILES[name].passed
    assert FILES[name].scenarios == total.total()
