"""The table of exit statuses, from the texts below the help of the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from numalet.cli import manual
from site_source import markdown

_COMMON: Final = ("2 invalid input", "3 a bug")
"""What is above the table already."""
_STATUS: Final = re.compile(r"(?:^|[,;] )(?=\d+ \D)")


def made() -> str:
    """One row for each command, with every status that has a meaning of its own."""
    head = ("Command", "Exit status")
    rows = (
        [markdown.code(" ".join(page.words)), markdown.escaped("; ".join(_own(page.exit_status)))]
        for page in manual.pages()
        if page.exit_status and not page.children
    )
    return markdown.table(head, rows)


def _own(text: str) -> Iterator[str]:
    """The statuses of a text such as ``0 shown, 2 invalid input, 3 a bug.``."""
    statuses, _, more = text.rstrip(".").partition(". ")
    for each in _STATUS.split(statuses):
        if each and each not in _COMMON:
            yield each
    if more:
        yield more
