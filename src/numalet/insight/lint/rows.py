"""Findings joined with their words, one row for each: what every form of the output shows."""

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

    ``kubelet_text`` is what the kubelet says, empty where it says nothing. ``rule`` and ``mend``
    are empty for what has none, a note about the machine for example.
    """

    code: str
    severity: Severity
    where: Location
    sentence: str
    kubelet_text: str = ""
    rule: str = ""
    mend: str = ""

    @property
    def place(self) -> str:
        """The place as people read it."""
        return self.where.text


def failing(*, strict: bool) -> frozenset[Severity]:
    """The severities that fail a check: errors, and warnings where it is strict."""
    return frozenset((Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,))


def rows(findings: Iterable[Finding]) -> tuple[FindingRow, ...]:
    """A row for each finding, in the same order."""
    return tuple(
        FindingRow(
            code=finding.code,
            severity=finding.severity,
            where=finding.where,
            sentence=str(finding),
            kubelet_text=kubelet_text(finding),
            rule=finding.why,
            mend=finding.mend.format(**with_sizes(finding.fields)),
        )
        for finding in findings
    )


class CodeMeaning(Value):
    """The sentence of a code, with names of fields in angle brackets, the reason, and the mend."""

    sentence: str
    rule: str
    mend: str


def meaning(of: type[Any]) -> CodeMeaning:
    """What a code means, without a finding or a reason of it; reasons have a sentence alone."""
    why = getattr(of, "why", "")
    return CodeMeaning(
        _FIELD.sub(r"<\1>", of.sentence),
        # Some reasons have a value of this name, which is no rule.
        why if isinstance(why, str) else "",
        _FIELD.sub(r"<\1>", getattr(of, "mend", "")),
    )


def kubelet_text(finding: Finding) -> str:
    """What the kubelet says about it, to the letter; empty if it says nothing."""
    area = finding.code.partition("/")[0]
    stage = _STAGES.get(area)
    if stage is not None and finding.kubelet_text:
        return kubelet_start.text(StartRefused(stage, (finding,)))
    return finding.in_kubelet_words if area == _CONFIGURATION else ""
