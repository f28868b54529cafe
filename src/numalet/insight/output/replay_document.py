"""What ``numalet replay -o json`` prints: counts by file, and first differences."""

from __future__ import annotations

from collections import Counter
from typing import Literal, Self

from numalet.insight.output.json_schema import OutputDocument
from numalet.insight.usecases.replaying import (
    FailedReport,
    Failure,
    PassedReport,
    Report,
    SkippedReport,
    UnusableReport,
)


class ReplayFileDocument(OutputDocument):
    """One file; ``problems`` are sentences about what cannot be used in it."""

    file: str
    passed: int
    failed: int
    skipped: int
    skipped_because: dict[str, int]
    failures: list[Failure]
    problems: list[str]

    @classmethod
    def of(cls, file: str) -> Self:
        return cls(file, 0, 0, 0, {}, [], [])

    def count(self, report: Report) -> None:
        match report:
            case PassedReport():
                self.passed += 1
            case FailedReport():
                self.failed += 1
                self.failures.append(report.failure)
            case SkippedReport():
                self.skipped += 1
                causes = Counter(self.skipped_because) + Counter([report.cause])
                self.skipped_because = dict(sorted(causes.items()))
            case UnusableReport():
                self.problems.extend(report.problems)


class ReplayDocument(OutputDocument):
    """What became of recorded scenarios; the counts are over all files."""

    schema: Literal["numalet.replay/1"]
    files: list[ReplayFileDocument]
    passed: int
    failed: int
    skipped: int
