"""Findings in the formats of code hosts and CI systems: SARIF, JUnit, GitHub, GitLab.

SARIF 2.1.0: every occurring code is a *rule* of the run, every finding a *result* with the file and
line of its place. JUnit XML: one test is the start of the kubelet; each finding is a further test,
which fails for an error, and in strict mode for a warning. Several checks are several suites.
GitHub Actions: a command is one line, ``::error file=kubelet.yaml,line=7,title=CODE::MESSAGE``.
GitLab: a report of Code Quality is a list of issues, each with the path and line of its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from numalet.core.findings.config import ConfigUndecided
from numalet.core.model.findings import Location, Severity
from numalet.core.model.value import Value, replace
from numalet.insight.lint.rows import FindingRow, failing

VERSION: Final = "2.1.0"
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"

_NUMBERS: Final = ("tests", "failures", "errors")
_COMMANDS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}
_GITLAB_SEVERITIES: Final = {
    Severity.ERROR: "critical",
    Severity.WARNING: "minor",
    Severity.NOTE: "info",
}
_MOST_NAMED: Final = 4


class PlacedRow(Value):
    """A finding, and the file that is used if it has none.

    ``combinations`` names its configurations and machines, if there are several.
    """

    row: FindingRow
    main_file: str = ""
    combinations: tuple[str, ...] = ()


def sarif_document(rows: Sequence[PlacedRow], tool_version: str) -> dict[str, Any]:
    """Return the log: one run of this program with all results; paths are relative."""
    codes = list(dict.fromkeys(each.row.code for each in rows))
    # Reversed, so that the first row of a code describes its rule.
    by_code = {each.row.code: each.row for each in reversed(rows)}
    driver = {
        "name": "numalet",
        "semanticVersion": tool_version,
        "rules": [_rule(by_code[code]) for code in codes],
    }
    results = [_result(each, codes.index(each.row.code)) for each in rows]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(row: FindingRow) -> dict[str, Any]:
    words = row.code.partition("/")[2].split("-")
    described = {"fullDescription": {"text": row.rule}} if row.rule else {}
    return {
        "id": row.code,
        "name": "".join(word.capitalize() for word in words),
        **described,
        "defaultConfiguration": {"level": row.severity.value},
    }


def _result(each: PlacedRow, index: int) -> dict[str, Any]:
    row = each.row
    result = {
        "ruleId": row.code,
        "ruleIndex": index,
        "level": row.severity.value,
        "message": {"text": finding_text(row)},
        "locations": _locations(row.where, each.main_file),
    }
    if each.combinations:
        result["properties"] = {"combinations": list(each.combinations)}
    return result


def finding_text(row: FindingRow) -> str:
    """Return all of a finding except its place, in one paragraph."""
    said = f" The kubelet says: {row.kubelet_text}." if row.kubelet_text else ""
    fix = f" Fix: {row.fix}." if row.fix else ""
    return f"{row.sentence.rstrip('.')}.{said}{fix}"


def _locations(where: Location, main_file: str) -> list[dict[str, Any]]:
    location: dict[str, Any] = {}
    file, line = _line_of(where, main_file)
    if file:
        artifact = {"artifactLocation": {"uri": quote(file)}}
        location["physicalLocation"] = {**artifact, "region": {"startLine": line}}
    names = [name for name in (where.path, "" if is_file(where) else where.document) if name]
    if names:
        location["logicalLocations"] = [{"fullyQualifiedName": name} for name in names]
    return [location] if location else []


def _text_with_place(row: FindingRow) -> str:
    """Return the text, with its place unless that is a file."""
    text = finding_text(row)
    return text if is_file(row.where) or not row.place else f"{row.place}: {text}"


def _line_of(where: Location, main_file: str) -> tuple[str, int]:
    """Return a file and a line of it, as code hosts require.

    A finding about a flag or the machine is at the first line of the main file.
    """
    if not is_file(where):
        return main_file, 1
    return where.document, 1 if where.line is None else where.line


def is_file(where: Location) -> bool:
    return bool(where.document) and not where.document.startswith("--")


class JunitSuite(Value):
    """The findings of one check; ``start_error`` is empty if the kubelet starts.

    ``skips_start``: a part cannot be read, so that the start is unknown.
    """

    name: str
    rows: Sequence[FindingRow]
    start_error: str = ""
    skips_start: bool = False

    def numbers(self, bad: Collection[Severity]) -> dict[str, str]:
        failures = sum(row.severity in bad for row in self.rows) + bool(self.start_error)
        return {"tests": str(len(self.rows) + 1), "failures": str(failures), "errors": "0"}


def junit_document(suites: Sequence[JunitSuite], *, strict: bool = False) -> str:
    bad = failing(strict=strict)
    each = [suite.numbers(bad) for suite in suites]
    total = {key: str(sum(int(numbers[key]) for numbers in each)) for key in _NUMBERS}
    root = Element("testsuites", {"name": "numalet check", **total})
    for suite, numbers in zip(suites, each, strict=True):
        name = {"name": suite.name or "numalet check"}
        _add_tests(SubElement(root, "testsuite", {**name, **numbers}), suite, bad)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(
        root, encoding="unicode"
    )


def _add_tests(tests: Element, suite: JunitSuite, bad: Collection[Severity]) -> None:
    start = SubElement(tests, "testcase", {"classname": "numalet", "name": "the kubelet starts"})
    if suite.start_error:
        SubElement(start, "failure", {"type": "error", "message": suite.start_error})
    elif suite.skips_start or any(row.code == ConfigUndecided.code for row in suite.rows):
        SubElement(start, "skipped")
    for row in suite.rows:
        names = {"classname": row.code, "name": row.place or row.code}
        if is_file(row.where):
            names["file"] = row.where.document
            names |= {} if row.where.line is None else {"line": str(row.where.line)}
        test = SubElement(tests, "testcase", names)
        if row.severity in bad:
            shown = {"type": row.severity.value, "message": row.sentence}
            SubElement(test, "failure", shown).text = finding_text(row)
        else:
            SubElement(test, "system-out").text = f"{row.severity.value}: {finding_text(row)}"


def github_lines(rows: Sequence[FindingRow]) -> Iterator[str]:
    for row in rows:
        properties = {"title": row.code}
        text = _text_with_place(row)
        if is_file(row.where):
            line = {} if row.where.line is None else {"line": str(row.where.line)}
            properties = {"file": row.where.document, **line, **properties}
        listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        yield f"::{_COMMANDS[row.severity]} {listed}::{_data(text)}"


def _data(text: str) -> str:
    # The escapes of GitHub's toolkit; properties also escape their separators.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab_issues(rows: Iterable[PlacedRow]) -> list[dict[str, Any]]:
    """Return the Code Quality report. An issue without any file is at the root folder."""
    return [_issue(each) for each in rows]


def _issue(each: PlacedRow) -> dict[str, Any]:
    row = each.row
    file, line = _line_of(row.where, each.main_file)
    text = _text_with_place(row)
    # GitLab compares two commits by fingerprint, so a finding that moves to another line keeps it.
    identity = "\n".join((row.code, file, text))
    return {
        "description": text,
        "check_name": row.code,
        "fingerprint": hashlib.sha256(identity.encode()).hexdigest(),
        "severity": _GITLAB_SEVERITIES[row.severity],
        "location": {"path": file or ".", "lines": {"begin": line}},
    }


class NamedRows(Value):
    """The findings of one check, its name, and its main file, if it has one."""

    name: str
    rows: Sequence[FindingRow]
    main_file: str = ""


def merged_rows(checks: Iterable[NamedRows]) -> tuple[PlacedRow, ...]:
    """Return every finding once, in order of its first check; its sentence names its checks."""
    # Most findings about a configuration are the same on every machine, and code hosts show only
    # the first few annotations.
    machines_of_row: dict[tuple[FindingRow, str], list[str]] = {}
    for each in checks:
        for row in each.rows:
            main_file = "" if is_file(row.where) else each.main_file
            names = machines_of_row.setdefault((row, main_file), [])
            if each.name not in names:
                names.append(each.name)
    return tuple(
        PlacedRow(_labelled(row, names), main_file, tuple(names))
        for (row, main_file), names in machines_of_row.items()
    )


def _labelled(row: FindingRow, names: Sequence[str]) -> FindingRow:
    more = len(names) - _MOST_NAMED
    shown = "; ".join(names[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
    return replace(row, sentence=f"{row.sentence.rstrip('.')} ({shown})")
