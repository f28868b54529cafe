"""A finding about state files as the commands of ``numalet state`` print it."""

from __future__ import annotations

from typing import Any

from numalet.core.model.findings import Finding, Severity
from numalet.core.model.value import Value


class StateFinding(Value):
    """One finding: a stable code, the values in its sentence by name, and the sentence.

    ``file`` and ``path`` say where; they are empty where that is no place in a file.
    """

    code: str
    severity: Severity
    file: str
    path: str
    fields: dict[str, Any]
    text: str


def of(finding: Finding, file: str | None = None) -> StateFinding:
    return StateFinding(**parts(finding, file))


def parts(finding: Finding, file: str | None = None) -> dict[str, Any]:
    """Return the fields; ``file`` replaces the one of the finding."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "file": finding.where.document if file is None else file,
        "path": finding.where.path,
        "fields": {name: finding.fields[name] for name in sorted(finding.fields)},
        "text": str(finding),
    }
