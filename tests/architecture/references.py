"""References from a page to what shows a statement: a test, or a scenario file.

Two forms, from the root of the project: ``tests/unit/test_x.py::test_name`` and
``tests/scenarios/x.yaml``. A reference is good when the thing it names is really there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from architecture import tree

_REFERENCE = re.compile(r"`(tests/[\w./-]+\.(?:py::\w+|yaml))`")


class Row(NamedTuple):
    """One row of a Markdown table: its cells, and its line for the message."""

    line: int
    cells: tuple[str, ...]


def rows(page: str) -> list[Row]:
    """The rows of all tables of a page, without headings and rules."""
    found: list[Row] = []
    lines = page.splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.startswith("|") or _is_rule(line):
            continue
        if number < len(lines) and _is_rule(lines[number]):
            continue
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
        found.append(Row(number, tuple(cell.strip() for cell in cells)))
    return found


def _is_rule(line: str) -> bool:
    return line.startswith("|") and set(line) <= set("|-: ")


def references(cell: str) -> list[str]:
    """Every reference in a cell."""
    return _REFERENCE.findall(cell)


def is_there(reference: str) -> bool:
    """Whether the file exists and, for a test, has a function of this name."""
    name, _, function = reference.partition("::")
    path = tree.ROOT / name
    if not path.is_file():
        return False
    return not function or function in tree.functions(path)
