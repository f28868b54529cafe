"""The findings of a command about its input: what ``-o json`` prints with exit status 2.

It replaces the document of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from numalet.core.model.findings import Finding

SCHEMA: Final = "numalet.findings/1"


class FindingPlaceDocument(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where: file or flag, line counted from 1, path in the document."""

    document: str = ""
    line: int | None = None
    path: str = ""


class FindingDocument(msgspec.Struct, kw_only=True):
    """One finding."""

    code: str
    severity: Literal["error", "warning", "note"]
    place: FindingPlaceDocument
    message: str


class FindingsDocument(msgspec.Struct, kw_only=True):
    """Everything that is wrong with the input."""

    schema: Literal["numalet.findings/1"]
    findings: list[FindingDocument]


def of(findings: Iterable[Finding]) -> FindingsDocument:
    return FindingsDocument(
        schema=SCHEMA,
        findings=[
            FindingDocument(
                code=finding.code,
                severity=finding.severity.value,
                place=FindingPlaceDocument(
                    document=finding.where.document,
                    line=finding.where.line,
                    path=finding.where.path,
                ),
                message=str(finding),
            )
            for finding in findings
        ],
    )
