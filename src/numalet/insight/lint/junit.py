"""The findings as JUnit XML, which the test pages of CI systems show.

One test says whether the kubelet starts; each finding is a test of its own, which fails for an
error, and for a warning where warnings count as errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from numalet.insight.lint.rows import FindingRow, failing
from numalet.insight.lint.sarif import is_file, message


def document(
    rows: Sequence[FindingRow], suite: str, start_error: str, *, strict: bool = False
) -> str:
    """The XML of one suite; ``start_error`` is with what the kubelet ends, empty if it starts."""
    bad = failing(strict=strict)
    failures = sum(row.severity in bad for row in rows) + bool(start_error)
    numbers = {"tests": str(len(rows) + 1), "failures": str(failures), "errors": "0"}
    root = Element("testsuites", {"name": "numalet check", **numbers})
    tests = SubElement(root, "testsuite", {"name": suite or "numalet check", **numbers})
    start = SubElement(tests, "testcase", {"classname": "numalet", "name": "the kubelet starts"})
    if start_error:
        SubElement(start, "failure", {"type": "error", "message": start_error})
    for row in rows:
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
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(
        root, encoding="unicode"
    )
