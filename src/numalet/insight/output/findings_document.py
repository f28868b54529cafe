"""The findings of a command about its input: what ``-o json`` prints with exit status 2.

It replaces the document of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.value import Value


class Place(Value, kw_only=True, omit_defaults=True):
    """Where: file or flag, line counted from 1, path in the document."""

    document: str = ""
    line: int | None = None
    path: str = ""


class FindingDocument(Value, kw_only=True):
    """One finding."""

    code: str
    severity: Severity
    place: Place
    message: str


class FindingsDocument(Value, kw_only=True, tag_field="schema", tag="numalet.findings/1"):
    """Everything that is wrong with the input."""

    findings: tuple[FindingDocument, ...]


def of(findings: Iterable[Finding]) -> FindingsDocument:
    return FindingsDocument(
        findings=tuple(
            FindingDocument(
                code=each.code,
                severity=each.severity,
                place=place(each.where),
                message=str(each),
            )
            for each in findings
        )
    )


def place(where: Location) -> Place:
    return Place(document=where.document, line=where.line, path=where.path)
