"""The base classes of numalet's own findings about a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from numalet.core.model import grammar
from numalet.core.model.findings import Finding, Severity
from numalet.wording import numbers

MOST_NAMED: Final = 4


def some_of(names: Sequence[str], joined: str = ", ") -> str:
    more = len(names) - MOST_NAMED
    return joined.join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


class LintFinding(Finding):
    """A finding that shows sizes in human-readable units."""

    def __str__(self) -> str:
        return grammar.singular(self.sentence.format(**with_sizes(self.fields)))


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
