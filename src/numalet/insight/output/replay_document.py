"""What ``numalet replay -o json`` prints: counts by file, and first differences."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET

from numalet.insight.output.json_schema import OutputDocument
from numalet.insight.simulate.comparison import ABSENT
from numalet.insight.usecases.replaying import FailedReport


class FailureDocument(OutputDocument):
    """A scenario that did not come out as recorded, and the first difference.

    ``line`` is null in a YAML file, ``release`` that of the kubelet whose outcome was expected. A
    side that has nothing there is left out.
    """

    name: str
    line: int | None
    release: str
    path: str
    expected: Any = UNSET
    actual: Any = UNSET


class ReplayFileDocument(OutputDocument):
    """One file; ``problems`` are sentences about what cannot be used in it."""

    file: str
    passed: int
    failed: int
    skipped: int
    skipped_because: dict[str, int]
    failures: list[FailureDocument]
    problems: list[str]


class ReplayDocument(OutputDocument):
    """What became of recorded scenarios; the counts are over all files."""

    schema: Literal["numalet.replay/1"]
    files: list[ReplayFileDocument]
    passed: int
    failed: int
    skipped: int


def failure(report: FailedReport) -> FailureDocument:
    difference = report.difference
    return FailureDocument(
        name=report.name,
        line=report.line,
        release=report.release,
        path=difference.path,
        expected=UNSET if difference.expected is ABSENT else difference.expected,
        actual=UNSET if difference.actual is ABSENT else difference.actual,
    )
