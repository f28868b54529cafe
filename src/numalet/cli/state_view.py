"""Output and exit status of ``numalet state``: a document, or drawings (``state_tables``).

Only drawings import Rich.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from numalet.cli import output
from numalet.cli.output import OutputFormat
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartStage
from numalet.core.model.findings import Finding, Severity
from numalet.insight.output import state_document
from numalet.insight.state import holder_map, state_diff
from numalet.insight.state.holder_map import StateMap
from numalet.insight.state.reading import States
from numalet.insight.state.rebase import Rebased
from numalet.insight.state.restart_check import RestartAnswer, RestoreCheck
from numalet.insight.state.state_diff import StateDifference
from numalet.insight.state.verify import FileReport, Soundness
from numalet.insight.usecases.state_doctor import ReplacedStateFile, StateSource

_STATUS_OF_ANSWER: Final = {
    RestartAnswer.ACCEPTED: 0,
    RestartAnswer.BY_CHANCE: 1,
    RestartAnswer.REFUSED: 1,
    RestartAnswer.NOT_ASKED: 2,
}


def status_of_reports(reports: Iterable[FileReport], strict: bool) -> int:
    """Return 0 if all files are sound enough, else 1."""
    bad = {Soundness.BROKEN, Soundness.DOUBTFUL} if strict else {Soundness.BROKEN}
    return int(any(report.soundness in bad for report in reports))


def status_of_check(check: RestoreCheck) -> int:
    """Return 0 if the kubelet starts and keeps the pods, 1 if not, 2 if no files help."""
    return _STATUS_OF_ANSWER[check.answer] or int(check.loses_pods)


def status_of_rebased(result: Rebased) -> int:
    """Return 0 if everything is kept, else 1."""
    return int(bool(result.lost or result.unusable))


def show_map(chart: StateMap, states: States, chosen: OutputFormat) -> None:
    """Print the content of the files; report undecodable parts on the error stream, too."""
    output.show_findings(state_diff.unreadable(states))
    if chosen is not OutputFormat.TABLE:
        output.print_document(chart, chosen)
        return
    from numalet.cli import state_tables

    output.print_all(state_tables.chart(chart))


def show_reports(
    reports: Sequence[FileReport], chosen: OutputFormat, release: Release | None
) -> None:
    if chosen is not OutputFormat.TABLE:
        output.print_document(state_document.verified(reports, release), chosen)
        return
    from numalet.cli import state_tables

    output.print_all(state_tables.reports(reports))


def show_differences(
    differences: Sequence[StateDifference], unreadable: Sequence[Finding], chosen: OutputFormat
) -> None:
    output.show_findings(unreadable)
    if chosen is not OutputFormat.TABLE:
        listed = tuple(map(holder_map.of, unreadable))
        output.print_document(state_document.ComparedDocument(tuple(differences), listed), chosen)
        return
    from numalet.cli import state_tables

    output.print_all(state_tables.differences(differences, bool(unreadable)))


def show_check(check: RestoreCheck, source: StateSource, chosen: OutputFormat) -> None:
    """Print the answer, the drift, and the allocations that a rebase would keep."""
    if chosen is not OutputFormat.TABLE:
        document = state_document.checked(check, _root_dir(source))
        output.print_document(document, chosen)
    if check.answer is RestartAnswer.NOT_ASKED and check.refused is not None:
        text = state_document.start_error(check.refused, _root_dir(source))
        kubelet = f"the kubelet v{check.behaviour.release.name}"
        if text is not None and not check.refused.is_undecided:
            output.complain(Severity.ERROR, f"{kubelet} would not start: {text}")
        output.show_findings((*check.refused.findings, *check.refused.further))
    if chosen is OutputFormat.TABLE:
        from numalet.cli import state_tables

        output.print_all(state_tables.check(check, _start_error(check, source)))


def _start_error(check: RestoreCheck, source: StateSource) -> str | None:
    """Return the kubelet's text about a file, if it has one."""
    if check.refused is None or check.refused.stage is StartStage.NUMALET:
        return None
    return state_document.start_error(check.refused, _root_dir(source))


def _root_dir(source: StateSource) -> str:
    return str(source.path if source.path.is_dir() else source.path.parent)


def show_rebased(
    result: Rebased, written: Sequence[ReplacedStateFile], chosen: OutputFormat
) -> None:
    if chosen is not OutputFormat.TABLE:
        backups = {str(each.path): str(each.backup) for each in written}
        output.print_document(state_document.rebased(result, backups), chosen)
        return
    from numalet.cli import state_tables

    output.print_all(state_tables.rebased(result, written))
    for done in written:
        # Never wrap lines, so that the paths can be copied.
        output.print_line(f"written: {done.path}")
        output.print_line(f"backup:  {done.backup}")
