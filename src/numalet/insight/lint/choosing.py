"""Select the findings of a check by code, and drop those that a comment ignores."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Value
from numalet.insight.lint.rows import FindingRow


class CheckUnknownCode(Finding):
    sentence = "unknown finding or area {unknown!r}; nearest: {nearest}"
    unknown: str
    nearest: str


_COMMENT: Final = re.compile(r"#\s*numalet:\s*ignore\[([^\]]*)\]")

LinesOf = Callable[[str], Sequence[str]]
"""From the name of a file to its lines, empty if it cannot be read."""


class LintChoice(Value):
    """Selected codes or areas such as ``lint`` (all, if empty) and ignored ones."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def of_texts(select: Iterable[str], ignore: Iterable[str], known: Collection[str]) -> LintChoice:
    """Parse option values with codes separated by commas; ``known`` are all codes.

    Raises:
        BadInput: A code or area does not exist.
    """
    return LintChoice(_codes("--select", select, known), _codes("--ignore", ignore, known))


def refuse_unknown(option: str, codes: Iterable[str], known: Collection[str]) -> None:
    """Raise ``BadInput`` if a text is neither a known code nor an area of one."""
    areas = sorted({code.partition("/")[0] for code in known})
    # An area such as "lint" selects all of its codes.
    names = [*known, *areas]
    unknown = [code for code in codes if code not in names]
    if unknown:
        raise BadInput(
            CheckUnknownCode(
                unknown=code,
                nearest=_nearest(code, names) or ", ".join(areas),
                where=Location(option),
            )
            for code in unknown
        )


def _nearest(code: str, known: Sequence[str]) -> str:
    return " or ".join(difflib.get_close_matches(code, known, n=2))


def counted(
    rows: Iterable[FindingRow], choice: LintChoice, lines_of: LinesOf
) -> tuple[FindingRow, ...]:
    return tuple(
        row
        for row in rows
        if (not choice.select or _is_named(row.code, choice.select))
        and not _is_named(row.code, choice.ignore)
        and not _is_named(row.code, _excused(row.where, lines_of))
    )


def _codes(option: str, texts: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    codes = tuple(code.strip() for text in texts for code in text.split(",") if code.strip())
    refuse_unknown(option, codes, known)
    return codes


def _is_named(code: str, names: Iterable[str]) -> bool:
    return any(name in (code, code.partition("/")[0]) for name in names)


def _excused(where: Location, lines_of: LinesOf) -> tuple[str, ...]:
    """Return the codes in comments on the line, or alone on the line before it."""
    if where.line is None:
        return ()
    lines = lines_of(where.document)
    own = lines[where.line - 1 : where.line]
    # The line before counts only if it is a comment: otherwise it ignores its own finding.
    before = lines[max(where.line - 2, 0) : where.line - 1]
    texts = (*own, *(line for line in before if line.lstrip().startswith("#")))
    codes = (
        code for text in texts for listed in _COMMENT.findall(text) for code in listed.split(",")
    )
    return tuple(code.strip() for code in codes)
