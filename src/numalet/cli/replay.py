"""``numalet replay``: runs recorded scenarios and shows where the outcome differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from numalet.cli import node_options, output
from numalet.cli.options import REQUIRED, Options, argument, option, with_options
from numalet.cli.output import print_document

if TYPE_CHECKING:
    from numalet.insight.output.replay_document import ReplayDocument, ReplayFileDocument
    from numalet.insight.usecases.replaying import Failure, Report

_LONGEST_VALUE = 300

EPILOG = """Examples:

  numalet replay recorded.jsonl

  numalet replay vectors-*.jsonl.gz -j 2

  numalet replay --release 1.34 recorded-of-1.34.jsonl

  numalet replay recorded.jsonl --fail-fast -o json

Exit status: 0 all scenarios passed, 1 a scenario failed, 2 invalid input.
"""


class ReplayOutput(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


class ReplayOptions(Options):
    files: list[str] = argument(
        "Scenario files: JSON lines (.jsonl, .jsonl.gz, .jsonl.xz), JSON or YAML.",
        "FILE...",
        default=REQUIRED,
    )
    release: str | None = node_options.release_option(
        "Release for scenarios without a release, such as 1.34; scenarios of other releases are"
        " refused. Default: 1.32."
    )
    fail_fast: bool = option("Stop at the first scenario that fails.")
    jobs: int = option("Number of worker processes.", "N", "-j", default=1, min=1)
    output: ReplayOutput = option(
        "How the results are printed.", name="-o", default=ReplayOutput.TEXT
    )


@with_options
def replay(options: ReplayOptions) -> None:
    """Run recorded scenarios and compare everything that was recorded.

    Prints the first difference of each scenario that fails, the counts of each file, and closes
    with the line 'N passed, M failed'. A file that says nothing about what should come out is
    of no use here; 'numalet simulate --record' writes files that do.
    """
    from numalet.insight.usecases import replaying

    shown = _Shown(options.output)
    reports = replaying.replay(options.files, options.jobs, options.release)
    for tally in _tallies(reports, options.fail_fast, shown):
        shown.file_is_done(tally)
    raise typer.Exit(shown.finished())


def _tallies(
    reports: Iterator[Report], fail_fast: bool, shown: _Shown
) -> Iterator[ReplayFileDocument]:
    """Yield a tally for each run of reports of the same file, when it is complete."""
    from numalet.insight.output.replay_document import ReplayFileDocument

    tally: ReplayFileDocument | None = None
    for report in reports:
        if tally is None or tally.file != report.file:
            if tally is not None:
                yield tally
            tally = ReplayFileDocument.of(report.file)
        tally.count(report)
        shown.one_more(report)
        if fail_fast and tally.failures:
            break
    if tally is not None:
        yield tally


class _Shown:
    """Prints during the run: text at once, JSON at the end, a counter on a terminal."""

    def __init__(self, chosen: ReplayOutput) -> None:
        self._output = chosen
        self._tallies: list[ReplayFileDocument] = []
        self._ticks = 0
        self._is_live = output.is_screen("stderr")

    def one_more(self, report: Report) -> None:
        """Count a scenario, and print its result if it is notable."""
        from numalet.insight.usecases import replaying

        self._ticks += 1
        match report:
            case replaying.UnusableReport():
                self._clear()
                for problem in report.problems:
                    output.say(f"error: {problem}")
            case replaying.FailedReport() if self._output is ReplayOutput.TEXT:
                self._clear()
                output.print_line(_failure_text(report.failure))
            case _:
                pass  # Only the number in the counts changes.
        if self._is_live:
            output.redraw(f"{report.file}: {self._ticks}")

    def file_is_done(self, tally: ReplayFileDocument) -> None:
        self._tallies.append(tally)
        self._clear()
        if self._output is not ReplayOutput.TEXT:
            return
        for cause, count in tally.skipped_because.items():
            output.print_line(f"{tally.file}: {count} skipped: {cause}")
        output.print_line(f"{tally.file}: {_counts([tally])}")

    def _clear(self) -> None:
        if self._is_live:
            output.redraw()

    def finished(self) -> int:
        """Print the summary; return the exit status."""
        if self._output is not ReplayOutput.TEXT:
            print_document(_summary(self._tallies), self._output)
        else:
            output.print_line(_counts(self._tallies))
        if any(tally.problems for tally in self._tallies):
            return 2
        return 1 if any(tally.failures for tally in self._tallies) else 0


def _summary(tallies: Sequence[ReplayFileDocument]) -> ReplayDocument:
    from numalet.insight.output.replay_document import ReplayDocument

    files = list(tallies)
    return ReplayDocument(
        schema="numalet.replay/1",
        files=files,
        passed=sum(each.passed for each in files),
        failed=sum(each.failed for each in files),
        skipped=sum(each.skipped for each in files),
    )


def _counts(tallies: Sequence[ReplayFileDocument]) -> str:
    passed = sum(tally.passed for tally in tallies)
    failed = sum(tally.failed for tally in tallies)
    skipped = sum(tally.skipped for tally in tallies)
    text = f"{passed} passed, {failed} failed"
    return f"{text}, {skipped} skipped" if skipped else text


def _failure_text(failure: Failure) -> str:
    from numalet.insight.simulate.comparison import ABSENT

    def shown(value: Any) -> str:
        text = "nothing" if value is ABSENT else json.dumps(value, sort_keys=True)
        return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."

    return (
        f"{failure.name}: {failure.path}\n"
        f"  expected: {shown(failure.expected)}\n"
        f"  actual:   {shown(failure.actual)}"
    )
