"""Findings as workflow commands of GitHub Actions, which shows them at their lines.

A command is one line: ``::error file=kubelet.yaml,line=7,title=CODE::MESSAGE``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from numalet.core.model.findings import Severity
from numalet.insight.lint.rows import FindingRow
from numalet.insight.lint.sarif import is_file, message

_COMMANDS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}


def lines(rows: Sequence[FindingRow]) -> Iterator[str]:
    for row in rows:
        properties = {"title": row.code}
        text = message(row)
        if is_file(row.where):
            line = {} if row.where.line is None else {"line": str(row.where.line)}
            properties = {"file": row.where.document, **line, **properties}
        elif row.place:
            text = f"{row.place}: {text}"
        listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        yield f"::{_COMMANDS[row.severity]} {listed}::{_data(text)}"


def _data(text: str) -> str:
    # The escapes of GitHub's toolkit; properties also escape their separators.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
