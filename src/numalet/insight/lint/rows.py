"""Findings joined with their words, one row for each: what every form of the output shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import Finding, Location, Severity
from numalet.wording import english, english_lint, english_mends, kubelet_config, kubelet_start

_FIELD: Final = re.compile(r"\{(\w+)[^{}]*\}")
_STAGES: Final = {
    "cpu-state": StartStage.CPU_MANAGER_START,
    "memory-state": StartStage.MEMORY_MANAGER_START,
}


@dataclass(frozen=True, slots=True)
class FindingRow:
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
        return english.place(self.where)


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
            sentence=sentence(finding),
            kubelet_text=kubelet_text(finding),
            rule=rule(finding.code),
            mend=_mend(finding),
        )
        for finding in findings
    )


@dataclass(frozen=True, slots=True)
class CodeMeaning:
    """What findings of a code say, with names of fields in angle brackets, why, and the mend."""

    sentence: str
    rule: str
    mend: str


def codes() -> tuple[str, ...]:
    """All codes of findings, in alphabetical order."""
    return tuple(sorted(english.SENTENCES))


def meaning(code: str) -> CodeMeaning:
    """What a code means, without a finding of it."""
    return CodeMeaning(
        _FIELD.sub(r"<\1>", english.SENTENCES[code]),
        rule(code),
        _FIELD.sub(r"<\1>", _mend_template(code)),
    )


def sentence(finding: Finding) -> str:
    """What is wrong."""
    template = english_lint.SENTENCES.get(finding.code)
    if template is None:
        return english.of_finding(finding)
    return template.format(**_shown(finding.fields))


def kubelet_text(finding: Finding) -> str:
    """What the kubelet says about it, to the letter; empty if it says nothing."""
    stage = _STAGES.get(_area(finding.code))
    if stage is not None:
        return kubelet_start.text(StartRefused(stage, (finding,)))
    if finding.code in kubelet_config.SENTENCES:
        return kubelet_config.text(finding)
    return ""


def rule(code: str) -> str:
    """Why it is wrong; the same for every finding of a code."""
    words = english_lint.WORDS.get(code)
    if words is not None:
        return words.why
    return english_mends.RULES.get(code) or english_mends.AREA_RULES.get(_area(code), "")


def _mend(finding: Finding) -> str:
    return _mend_template(finding.code).format(**_shown(finding.fields))


def _mend_template(code: str) -> str:
    words = english_lint.WORDS.get(code)
    if words is not None:
        return words.mend
    return english_mends.MENDS.get(code) or english_mends.AREA_MENDS.get(_area(code), "")


def _area(code: str) -> str:
    return code.partition("/")[0]


def _shown(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with sizes as people read them."""
    return {
        name: english.size(value) if name.endswith("_bytes") else value
        for name, value in fields.items()
    }
