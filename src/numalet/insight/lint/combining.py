"""Merge the findings of several checks, for outputs that show each finding at its line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from numalet.core.model.value import Value, replace
from numalet.insight.lint.rows import FindingRow
from numalet.insight.lint.sarif import SarifRow, is_file

_MOST_NAMED: Final = 4


class NamedRows(Value):
    """The findings of one check, its name, and its main file, if it has one."""

    name: str
    rows: Sequence[FindingRow]
    main_file: str = ""


def merged(checks: Iterable[NamedRows]) -> tuple[SarifRow, ...]:
    """Return every finding once, in order of its first check; its sentence names its checks."""
    # Most findings about a configuration are the same on every machine, and code hosts show only
    # the first few annotations.
    machines_of_row: dict[tuple[FindingRow, str], list[str]] = {}
    for each in checks:
        for row in each.rows:
            main_file = "" if is_file(row.where) else each.main_file
            names = machines_of_row.setdefault((row, main_file), [])
            if each.name not in names:
                names.append(each.name)
    return tuple(
        SarifRow(_labelled(row, names), main_file, tuple(names))
        for (row, main_file), names in machines_of_row.items()
    )


def _labelled(row: FindingRow, names: Sequence[str]) -> FindingRow:
    more = len(names) - _MOST_NAMED
    shown = "; ".join(names[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
    return replace(row, sentence=f"{row.sentence.rstrip('.')} ({shown})")
