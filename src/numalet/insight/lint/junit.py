"""Findings as JUnit XML, which CI systems show as test results.

One test is the start of the kubelet; each finding is a further test, which fails for an error, and
in strict mode for a warning. Several checks are several suites.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from numalet.core.findings.config import ConfigUndecided
from numalet.core.model.findings import Severity
from numalet.core.model.value import Value
from numalet.insight.lint.rows import FindingRow, failing
from numalet.insight.lint.sarif import is_file, message

_NUMBERS: Final = ("tests", "failures", "errors")


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


def document(suites: Sequence[JunitSuite], *, strict: bool = False) -> str:
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
            SubElement(test, "failure", shown).text = message(row)
        else:
            SubElement(test, "system-out").text = f"{row.severity.value}: {message(row)}"
