"""Findings on the terminal: the kubelet's own text first, then one block for each finding.

A block has severity and code on its first line, then the place, the problem, the kubelet's text,
the rule and the fix. Each rule is printed once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from numalet.cli import output
from numalet.core.config.behaviour import EXACT, Behaviour, Mode
from numalet.core.model.findings import Location, Severity
from numalet.core.model.value import replace
from numalet.insight.lint import formats, rows
from numalet.insight.lint.formats import JunitSuite, NamedRows, PlacedRow
from numalet.insight.lint.rows import FindingRow
from numalet.wording import kubelet_start, numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

    from numalet.core.config.rules import StartRefused
    from numalet.insight.lint.rules import Checked
    from numalet.insight.usecases.checking import CheckCombination, CheckResult

_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_INDENT: Final = 9
_SKIPPED_CHECKS: Final = {
    "swap": "whether swap is on",
    "cgroup-version": "the cgroup version",
    "container-runtime": "the container runtime",
    "soft-eviction": "the values of soft eviction thresholds",
}
"""Other reasons why a kubelet may not start."""


def print_findings(result: CheckResult) -> None:
    output.print_all(_drawn(result, set()))


def print_code(code: str, classes: Mapping[str, type[Any]]) -> None:
    """Print the words of the findings of a code, or of the codes of an area."""
    output.print_all(_explained(code, classes))


def _explained(wanted: str, classes: Mapping[str, type[Any]]) -> Iterator[RenderableType]:
    for code, each in classes.items():
        if wanted not in (code, code.partition("/")[0]):
            continue
        meaning = rows.meaning(each)
        yield text(code, "bold", 0)
        yield text(meaning.sentence, "", 2)
        if meaning.rule:
            yield text(f"rule: {meaning.rule}", "dim", 2)
        if meaning.fix:
            yield text(f"fix: {meaning.fix}", "green", 2)


def print_document(
    form: str,
    rows: Sequence[FindingRow],
    checked: Checked | None = None,
    behaviour: Behaviour = EXACT,
) -> None:
    """Print the document that ``numalet.check/2`` describes."""
    from numalet.insight.output import check_document

    output.print_document(check_document.of(checked, tuple(rows), behaviour), form)


def print_for_code_host(rows: Sequence[FindingRow], main_file: str, chosen: str) -> None:
    """Print SARIF, GitHub's commands or a report for GitLab, with files relative to this folder.

    Findings without a file are at the beginning of the main file.
    """
    file = _relative_file(main_file)
    _print_placed([PlacedRow(_relative(row), file) for row in rows], chosen)


def _print_placed(placed: Sequence[PlacedRow], chosen: str) -> None:
    from numalet import __version__

    match chosen:
        case "sarif":
            document = formats.sarif_document(placed, __version__)
            output.print_document(document, output.OutputFormat.JSON)
        case "gitlab":
            output.print_json(formats.gitlab_issues(placed), indent=2)
        case _:
            for line in formats.github_lines([each.row for each in placed]):
                output.print_text(f"{line}\n")


def print_junit(
    rows: Sequence[FindingRow], main_file: str, start_error: str, *, strict: bool
) -> None:
    suite = JunitSuite(main_file, [_relative(row) for row in rows], start_error)
    _print_suites([suite], strict=strict)


def _print_suites(suites: Sequence[JunitSuite], *, strict: bool) -> None:
    # In XML, escape forbidden characters as on the terminal, inside and outside of names.
    output.print_text(formats.junit_document(suites, strict=strict) + "\n")


def print_several(checks: Sequence[CheckCombination]) -> None:
    output.print_all(_several_drawn(checks))


def print_several_for_program(
    checks: Sequence[CheckCombination], chosen: str, *, strict: bool
) -> None:
    """Print the findings of several checks as JSON, YAML, JUnit or for a code host."""
    if chosen in ("json", "yaml"):
        _print_several_documents(checks, chosen)
        return
    if chosen == "junit":
        suites = [
            JunitSuite(
                each.name,
                [_relative(row) for row in each.rows],
                "" if each.result is None else start_error(each.result.checked.refused),
                skips_start=each.result is None,
            )
            for each in checks
        ]
        _print_suites(suites, strict=strict)
        return
    named = [
        NamedRows(each.name, [_relative(row) for row in each.rows], _relative_file(each.config))
        for each in checks
    ]
    _print_placed(formats.merged_rows(named), chosen)


def _print_several_documents(checks: Sequence[CheckCombination], form: str) -> None:
    from numalet.insight.output import check_document
    from numalet.insight.output.check_document import CheckCombinationDocument, ChecksDocument

    results = []
    for each in checks:
        one = each.result
        of_one = check_document.of(None, each.rows)
        if one is not None:
            of_one = check_document.of(one.checked, one.rows, one.behaviour)
        results.append(
            CheckCombinationDocument(config=each.config, machine=each.machine, check=of_one)
        )
    output.print_document(ChecksDocument(results=results), form)


def start_error(refused: StartRefused | None) -> str:
    """Return the kubelet's final error; empty if it starts, or if that is undecided."""
    return "" if refused is None or refused.is_undecided else kubelet_start.text(refused)


def _relative_file(main_file: str | None) -> str:
    """Return the file relative to the working directory; empty for the standard input."""
    return os.path.relpath(main_file) if main_file not in (None, "", "-") else ""


def _relative(row: FindingRow) -> FindingRow:
    """Return the row with a relative file; a name that is not a file moves into the place."""
    document = row.where.document
    if not formats.is_file(row.where):
        return row
    if Path(document).exists():
        return replace(row, where=replace(row.where, document=os.path.relpath(document)))
    return replace(row, where=Location(path=" ".join(filter(None, (document, row.where.path)))))


def _several_drawn(checks: Sequence[CheckCombination]) -> Iterator[RenderableType]:
    rules_said: set[str] = set()
    for each in checks:
        yield text(each.name, "bold underline", 0)
        if each.result is None:
            yield text("This cannot be checked.", "", 0)
            yield from blocks(each.unusable, rules_said, "")
        else:
            yield from _drawn(each.result, rules_said)
        yield ""
    from numalet.insight.output import check_document

    results = [each.result for each in checks if each.result is not None]
    refusals = [result.checked.refused for result in results]
    starting = sum(
        each.checked.refused is None and not check_document.stopped_by(each.rows, each.behaviour)
        for each in results
    )
    undecided = sum(refused is not None and refused.is_undecided for refused in refusals)
    missing = len(checks) - len(results)
    rest = f", {missing} cannot be checked" if missing else ""
    if undecided:
        rest = f", cannot tell for {undecided}{rest}"
    yield text(
        f"{numbers.counted(len(checks), 'combination')}: {starting} would start,"
        f" {len(results) - starting - undecided} would not{rest}",
        "",
        0,
    )


def _drawn(result: CheckResult, rules_said: set[str]) -> Iterator[RenderableType]:
    refused = result.checked.refused
    # If native mode lacks words, use the kubelet's.
    who = _who(result.behaviour)
    if refused is None:
        yield text(_accepted(who, result), "", 0)
        unknown = result.checked.skipped_checks
        if unknown:
            listed = ", ".join(_SKIPPED_CHECKS[name] for name in unknown)
            yield text(f"Not checked: {listed}.", "dim", 0)
    elif refused.is_undecided:
        yield text(kubelet_start.complaint(who, refused), "bold", 0)
    else:
        yield text(f"{who} would not start. It would say:", "", 0)
        yield text(kubelet_start.text(refused), "bold", 2)
    yield from blocks(result.rows, rules_said, start_error(refused))
    yield ""
    yield text(_summary(result), "", 0)


def _accepted(who: str, result: CheckResult) -> str:
    """Return the verdict if the resource managers accept the configuration."""
    from numalet.insight.output import check_document

    if codes := check_document.stopped_by(result.rows, result.behaviour):
        listed = ", ".join(codes)
        return f"{who} would not start, although its resource managers would: see {listed}."
    return f"{who} would start with this configuration."


def _who(behaviour: Behaviour) -> str:
    if behaviour.mode is Mode.EXACT:
        return f"The kubelet v{behaviour.release.name}"
    return "A node in native mode"


def blocks(
    rows: Sequence[FindingRow], rules_said: set[str], first_text: str
) -> Iterator[RenderableType]:
    """Yield a block for each finding; each rule is printed once. ``first_text`` precedes them."""
    for row in rows:
        yield ""
        yield _heading(row)
        for paragraph, style in _paragraphs(row, rules_said, first_text):
            yield text(paragraph, style, _INDENT)


def _heading(row: FindingRow) -> RenderableType:
    from rich.text import Text

    heading = Text(f"{row.severity.value:<{_INDENT}}", style=f"bold {_COLOURS[row.severity]}")
    return heading.append(row.code, style="bold")


def _paragraphs(
    row: FindingRow, rules_said: set[str], first_text: str
) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of a block below its first line, each with a style.

    ``first_text`` is the kubelet's text above all blocks.
    """
    if row.place:
        yield f"at {row.place}", "dim"
    yield row.sentence, ""
    if row.kubelet_text not in ("", first_text, row.sentence):
        yield f"kubelet: {row.kubelet_text}", ""
    if row.rule and row.rule not in rules_said:
        rules_said.add(row.rule)
        yield f"rule: {row.rule}", "dim"
    if row.fix:
        yield f"fix: {row.fix}", "green"


def text(text: str, style: str, indent: int) -> RenderableType:
    """Return a paragraph, indented by this number of columns."""
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(output.printable(text), style=style), (0, 0, 0, indent))


def _summary(result: CheckResult) -> str:
    counts = [
        numbers.counted(sum(row.severity is severity for row in result.rows), severity.value)
        for severity in Severity
    ]
    ignored = f"; {result.ignored_count} not counted" if result.ignored_count else ""
    given = numbers.counted(result.pod_count, "pod")
    if result.claim_count:
        given += f" and {numbers.counted(result.claim_count, 'object')} about claims"
    return f"{', '.join(counts)}{ignored}; {given} given"
