"""Findings with their texts, one row for each: the content of every output format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.value import Value
from numalet.insight.lint.lint_finding import with_sizes
from numalet.wording import kubelet_start

_FIELD: Final = re.compile(r"\{(\w+)[^{}]*\}")
_STAGES: Final = {
    "cpu-state": StartStage.CPU_MANAGER_START,
    "memory-state": StartStage.MEMORY_MANAGER_START,
}
_CONFIGURATION: Final = "config"


class FindingRow(Value):
    """One finding in words.

    ``kubelet_text`` is the kubelet's message. It, ``rule`` and ``fix`` may be empty.
    """

    code: str
    severity: Severity
    where: Location
    sentence: str
    kubelet_text: str = ""
    rule: str = ""
    fix: str = ""

    @property
    def place(self) -> str:
        return self.where.text


def failing(*, strict: bool) -> frozenset[Severity]:
    """Return the severities that fail a check: errors, and in strict mode warnings."""
    return frozenset((Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,))


def rows(findings: Iterable[Finding]) -> tuple[FindingRow, ...]:
    return tuple(
        FindingRow(
            code=finding.code,
            severity=finding.severity,
            where=finding.where,
            sentence=str(finding),
            kubelet_text=kubelet_text(finding),
            rule=finding.why,
            fix=finding.fix.format(**with_sizes(finding.fields)),
        )
        for finding in findings
    )


class CodeMeaning(Value):
    """A code's sentence with field names in angle brackets, its reason, and its fix."""

    sentence: str
    rule: str
    fix: str


def meaning(of: type[Any]) -> CodeMeaning:
    """Return the meaning of a code without an instance; reasons have only a sentence."""
    why = getattr(of, "why", "")
    return CodeMeaning(
        _FIELD.sub(r"<\1>", of.sentence),
        # Some reasons have a field of this name.
        why if isinstance(why, str) else "",
        _FIELD.sub(r"<\1>", getattr(of, "fix", "")),
    )


def kubelet_text(finding: Finding) -> str:
    """Return the kubelet's exact message; empty if it has no message."""
    area = finding.code.partition("/")[0]
    stage = _STAGES.get(area)
    # The kubelet wraps errors of state files in the text of their stage.
    if stage is not None and finding.kubelet_text:
        return kubelet_start.text(StartRefused(stage, (finding,)))
    return finding.in_kubelet_words if area == _CONFIGURATION else ""
