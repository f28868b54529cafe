"""What all findings of our own rules about a configuration have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numalet.core.model.findings import Finding, Severity
from numalet.wording import numbers


class LintFinding(Finding):
    """A finding that shows sizes as people read them."""

    def __str__(self) -> str:
        return self.sentence.format(**with_sizes(self.fields))


class LintWarning(LintFinding, kw_only=True):
    """One about something that is used as it is, and is probably not what was meant."""

    severity: Severity = Severity.WARNING


class LintNote(LintFinding, kw_only=True):
    """One about something worth knowing."""

    severity: Severity = Severity.NOTE


def with_sizes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a finding; numbers of bytes, whose names end in ``_bytes``, as sizes."""
    return {
        name: numbers.size(value) if name.endswith("_bytes") else value
        for name, value in fields.items()
    }
