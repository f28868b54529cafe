"""The base classes of numalet's own findings about a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numalet.core.model.findings import Finding, Severity
from numalet.wording import numbers


class LintFinding(Finding):
    """A finding that shows sizes in human-readable units."""

    def __str__(self) -> str:
        return self.sentence.format(**with_sizes(self.fields))


class LintWarning(LintFinding, kw_only=True):
    """A usable configuration that is probably a mistake."""

    severity: Severity = Severity.WARNING


class LintNote(LintFinding, kw_only=True):
    severity: Severity = Severity.NOTE


def with_sizes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Format fields of bytes, whose names end in ``_bytes``, as sizes."""
    return {
        name: numbers.size(value) if name.endswith("_bytes") else value
        for name, value in fields.items()
    }
