"""Findings on the terminal: the kubelet's own text first, then one block for each finding.

A block has severity and code on its first line, then the place, what is wrong, what the kubelet
says, the rule behind it and the mend. A rule is said once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from numalet.cli import output
from numalet.core.config.behaviour import Mode
from numalet.core.model.findings import Location, Severity
from numalet.insight.lint import github, junit, rows, sarif
from numalet.insight.lint.rows import FindingRow
from numalet.wording import english_lint, kubelet_start

if TYPE_CHECKING:
    from rich.console import RenderableType

    from numalet.insight.lint.rules import Checked
    from numalet.insight.usecases.checking import CheckResult

_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_INDENT: Final = 9


def print_findings(result: CheckResult) -> None:
    """Print everything for people."""
    output.print_all(_drawn(result))


def print_code(code: str) -> None:
    """Print what the findings of a code, or of the codes of an area, say, why, and the mend."""
    output.print_all(_explained(code))


def _explained(wanted: str) -> Iterator[RenderableType]:
    for code in (each for each in rows.codes() if wanted in (each, each.partition("/")[0])):
        meaning = rows.meaning(code)
        yield _text(code, "bold", 0)
        yield _text(meaning.sentence, "", 2)
        if meaning.rule:
            yield _text(f"rule: {meaning.rule}", "dim", 2)
        if meaning.mend:
            yield _text(f"mend: {meaning.mend}", "green", 2)


def print_json(
    rows: Sequence[FindingRow], checked: Checked | None = None, mode: Mode = Mode.EXACT
) -> None:
    """Print the document that ``numalet.check/1`` describes."""
    import msgspec

    from numalet.insight.output import check_document

    document = msgspec.to_builtins(check_document.of(checked, tuple(rows), mode))
    output.print_document(document, output.OutputFormat.JSON)


def print_sarif(rows: Sequence[FindingRow], main_file: str) -> None:
    """Print a SARIF log; what is about no file is placed at the beginning of the main one."""
    from numalet import __version__

    placed = [_relative(row) for row in rows]
    main_file = os.path.relpath(main_file) if main_file not in ("", "-") else ""
    output.print_document(sarif.document(placed, __version__, main_file), output.OutputFormat.JSON)


def print_github(rows: Sequence[FindingRow]) -> None:
    """Print workflow commands."""
    for line in github.lines([_relative(row) for row in rows]):
        sys.stdout.write(output.printable(line) + "\n")


def print_junit(
    rows: Sequence[FindingRow], main_file: str, start_error: str, *, strict: bool
) -> None:
    """Print JUnit XML."""
    placed = [_relative(row) for row in rows]
    # What no XML may hold is escaped as on the terminal, in and outside of names.
    output.print_text(junit.document(placed, main_file, start_error, strict=strict) + "\n")


def _relative(row: FindingRow) -> FindingRow:
    """The row with its file as it is called from here; what is no file is part of the place."""
    document = row.where.document
    if not sarif.is_file(row.where):
        return row
    if Path(document).exists():
        return replace(row, where=replace(row.where, document=os.path.relpath(document)))
    return replace(row, where=Location(path=" ".join(filter(None, (document, row.where.path)))))


def _drawn(result: CheckResult) -> Iterator[RenderableType]:
    refused = result.checked.refused
    # What native mode has no words of its own for, it says in the kubelet's.
    who = "The kubelet v1.32" if result.mode is Mode.EXACT else "A node in native mode"
    if refused is None:
        yield _text(f"{who} would start with this configuration.", "", 0)
        unknown = english_lint.not_looked_at(result.checked.not_looked_at)
        if unknown:
            yield _text(unknown, "dim", 0)
    else:
        yield _text(f"{who} would not start. It would say:", "", 0)
        yield _text(kubelet_start.text(refused), "bold", 2)
    rules_said: set[str] = set()
    first_text = "" if refused is None else kubelet_start.text(refused)
    for row in result.rows:
        yield ""
        yield _heading(row)
        for paragraph, style in _paragraphs(row, rules_said, first_text):
            yield _text(paragraph, style, _INDENT)
    yield ""
    yield _text(_summary(result), "", 0)


def _heading(row: FindingRow) -> RenderableType:
    from rich.text import Text

    heading = Text(f"{row.severity.value:<{_INDENT}}", style=f"bold {_COLOURS[row.severity]}")
    return heading.append(row.code, style="bold")


def _paragraphs(
    row: FindingRow, rules_said: set[str], first_text: str
) -> Iterator[tuple[str, str]]:
    """What a block says below its first line, each with a style.

    ``first_text`` is the kubelet's text that stands above all blocks.
    """
    if row.place:
        yield f"at {row.place}", "dim"
    yield row.sentence, ""
    if row.kubelet_text not in ("", first_text, row.sentence):
        yield f"kubelet: {row.kubelet_text}", ""
    if row.rule and row.rule not in rules_said:
        rules_said.add(row.rule)
        yield f"rule: {row.rule}", "dim"
    if row.mend:
        yield f"mend: {row.mend}", "green"


def _text(text: str, style: str, indent: int) -> RenderableType:
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(output.printable(text), style=style), (0, 0, 0, indent))


def _summary(result: CheckResult) -> str:
    counts = [
        _counted(sum(row.severity is severity for row in result.rows), severity.value)
        for severity in Severity
    ]
    ignored = f"; {result.ignored_count} not counted" if result.ignored_count else ""
    return f"{', '.join(counts)}{ignored}; {_counted(result.pod_count, 'pod')} given"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
