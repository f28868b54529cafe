"""Every recorded scenario of a later release comes out as it was recorded.

Those that v1.32 was not given, or to which it had another answer, show what a release is: `make
test` asks some of each kind, every whole run asks all. The many others repeat what is recorded of
v1.32: in every whole run each is asked of one release, in turn, and `make thorough` asks all
releases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from harness import thoroughness
from numalet.insight.usecases import replaying
from numalet.insight.usecases.replaying import FailedReport, PassedReport
from numalet.insight.usecases.scenario_file import RawScenario
from oracles.release_recordings import STORE, category_of

CHUNK = 50


def chunks(counts: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    """Category, first and number of the scenarios of each chunk."""
    for category, count in counts.items():
        for start in range(0, count, CHUNK):
            yield category, start, min(CHUNK, count - start)


def is_among_the_quick(turn: int, chunk: tuple[str, int, int]) -> bool:
    """Whether `make test` has this chunk: the first of its category, if it is the release's turn.

    Releases that follow each other answer nearly the same; the newest has most that is new.
    """
    category, start, _ = chunk
    releases = list(STORE.contents().values())
    turns = sorted(releases[-1].differing).index(category) % len(releases)
    return start == 0 and turn in (turns, len(releases) - 1)


DIFFERING = [
    pytest.param(release, *chunk, marks=() if is_among_the_quick(turn, chunk) else pytest.mark.slow)
    for turn, (release, contents) in enumerate(STORE.contents().items())
    for chunk in chunks(contents.differing)
]
EQUAL = [
    (release, *chunk)
    for turn, (release, contents) in enumerate(STORE.contents().items())
    for at, chunk in enumerate(
        chunks(dict(Counter(contents.scenarios) - Counter(contents.differing)))
    )
    if (at + turn) % thoroughness.of(every_run=len(STORE.contents()), thorough=1) == 0
]


def reports(release: str, names: list[str]) -> Counter[type]:
    """How many were reported how; a difference fails the test."""
    found: Counter[type] = Counter()
    for number, name in enumerate(names):
        line = STORE.line(release, name).decode()
        report = replaying.report(RawScenario(f"release {release}", line, number))
        if isinstance(report, FailedReport):
            pytest.fail(f"{release}: {report.failure}")
        found[type(report)] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("release", "category", "start", "count"), DIFFERING)
def test_what_a_release_decides_otherwise_comes_out_as_recorded(
    release: str, category: str, start: int, count: int
) -> None:
    differing = [each for each in STORE.names_that_differ(release) if category_of(each) == category]
    found = reports(release, differing[start : start + CHUNK])
    assert found == Counter({PassedReport: count})


@pytest.mark.slow
@pytest.mark.parametrize(("release", "category", "start", "count"), EQUAL)
def test_what_a_release_decides_as_the_first_comes_out_as_recorded(
    release: str, category: str, start: int, count: int
) -> None:
    differing = set(STORE.names_that_differ(release))
    all_ = (each for each in STORE.names(release) if each not in differing)
    equal = [each for each in all_ if category_of(each) == category]
    found = reports(release, equal[start : start + CHUNK])
    assert found == Counter({PassedReport: count})
