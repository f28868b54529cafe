"""Replay recorded scenarios of several files, in one or several processes.

The reports are plain values in the order of the files, independent of the processes.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from os import PathLike, fspath
from typing import Any, TypeAlias

from msgspec import UNSET

from numalet.core.config.releases.release import Release
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Value
from numalet.insight.simulate import runner
from numalet.insight.simulate.runner import Failed, Passed, Skipped
from numalet.insight.usecases import scenario_document, scenario_file
from numalet.insight.usecases.scenario_file import RawScenario
from numalet.io.documents.kubelet import kubelet_version

_CHUNK = 8


class PassedReport(Value):
    file: str
    name: str


class Failure(Value):
    """A scenario that did not come out as recorded, and the first difference.

    ``line`` is null in a YAML file, ``release`` that of the kubelet whose outcome was expected, as
    in ``1.34``. A side of the difference without a value is left out.
    """

    name: str
    line: int | None
    release: str
    path: str
    expected: Any = UNSET
    actual: Any = UNSET


class FailedReport(Value):
    file: str
    failure: Failure


class SkippedReport(Value):
    """The scenario was not run; ``cause`` is a sentence."""

    file: str
    name: str
    cause: str


class UnusableReport(Value):
    """The scenario or the file cannot be used; a sentence with its place per finding."""

    file: str
    problems: tuple[str, ...]


Report: TypeAlias = PassedReport | FailedReport | SkippedReport | UnusableReport


def replay(
    files: str | PathLike[str] | Iterable[str | PathLike[str]],
    jobs: int = 1,
    release: str | None = None,
) -> Iterator[Report]:
    """Yield a report for every scenario of the files, in their order.

    Args:
        files: path of a scenario file, or several.
        jobs: number of processes; with 1 this process does the work.
        release: the release of scenarios that name none; those that name another are unusable.

    Raises:
        BadInput: at once, if the release is not known.
    """
    # Not in the generator: an unknown release is reported at the call, not at the first report.
    listed = [files] if isinstance(files, str | PathLike) else files
    return _replayed(
        [fspath(each) for each in listed],
        jobs,
        None if release is None else kubelet_version.of_name(release),
    )


def _replayed(files: Sequence[str], jobs: int, release: Release | None) -> Iterator[Report]:
    tasks = _tasks(files)
    report_one = partial(report, release=release)
    if jobs <= 1:
        yield from map(report_one, tasks)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap(report_one, tasks, _CHUNK)


_Task: TypeAlias = RawScenario | UnusableReport


def _tasks(files: Iterable[str]) -> Iterator[_Task]:
    for file in files:
        is_empty = True
        try:
            for raw in scenario_file.read_scenarios(file):
                is_empty = False
                yield raw
        except BadInput as bad:
            yield _unusable(file, bad.findings)
            continue
        if is_empty:
            problem = "no scenarios in this file; at least one is required"
            yield _unusable(file, (input_error.Required(problem, where=Location(file)),))


def report(task: _Task, release: Release | None = None) -> Report:
    """Run one task, with this release unless its scenario names one."""
    if isinstance(task, UnusableReport):
        return task
    try:
        scenario = scenario_document.followed_as(task.decode(), release, task.location)
    except BadInput as bad:
        return _unusable(task.document, bad.findings)
    try:
        verdict = runner.check(scenario)
    except Exception as error:
        # The traceback of a worker process does not show the scenario.
        error.add_note(f"while replaying {scenario.name} of {task.document}")
        raise
    match verdict:
        case Passed():
            return PassedReport(task.document, scenario.name)
        case Failed(first):
            about = scenario.name, task.line, scenario.behaviour.release.name
            failure = Failure(*about, first.path, first.expected, first.actual)
            return FailedReport(task.document, failure)
        case Skipped(why):
            return SkippedReport(task.document, scenario.name, str(why))


def _unusable(file: str, findings: Sequence[Finding]) -> UnusableReport:
    problems = (f"{finding.where.text}: {finding}" for finding in findings)
    return UnusableReport(file, tuple(problems))
