"""Foreign texts in sentences: escaped for a terminal, a page or a spreadsheet, or left out.

An agent of root reads its manifest folder, which may contain links, and every client that may list
events sees the errors. Therefore an event contains the place and the kind of error, and quotes
nothing; the file's owner gets the rest from a command that runs with the owner's rights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from numalet.core.model.findings import Finding
from numalet.core.model.input_error import InputFinding
from numalet.core.model.value import replace

_HIDDEN: Final = "…"
_LIMITS: Final = frozenset(
    {"allowed", "expected", "least", "limit_bytes", "most", "nearest", "others"}
)
"""Fields of findings with our limits instead of content of the file."""
_ABOUT_FILES: Final = ("files/", "document/unreadable", "document/too-large")
"""Codes of findings that do not use the content of a file."""
_MOST: Final = 5


def printable(text: str, kept: str = "\n") -> str:
    """Escape control characters and those that change the text direction.

    ``kept`` are control characters that stay.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in kept else ascii(character)[1:-1]
        for character in text
    )


class _Hidden:
    """Replaces a value in every format."""

    def __format__(self, _spec: str) -> str:
        return _HIDDEN

    def __str__(self) -> str:
        return _HIDDEN

    __repr__ = __str__


def sentences(findings: Iterable[Finding]) -> str:
    """Return the first few errors, each with its line."""
    every = [*findings]
    said = [_sentence(each) for each in every[:_MOST]]
    more = len(every) - _MOST
    return "; ".join([*said, f"and {more} more"] if more > 0 else said)


def _sentence(finding: Finding) -> str:
    if finding.code.startswith(_ABOUT_FILES):
        return str(finding)
    line = finding.where.line
    text = _without_values(finding)
    return text if line is None else f"line {line}: {text}"


def _without_values(finding: Finding) -> str:
    if isinstance(finding, InputFinding):
        return str(replace(finding, message=finding.why))
    return finding.sentence.format(**_hidden(finding.fields))


def _hidden(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value if name in _LIMITS else _Hidden() for name, value in fields.items()}
