"""Texts of the code as MyST Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|$~])")
_LITERAL: Final = re.compile(r"(``[^`]+``)")


def escaped(text: str) -> str:
    """A text in which nothing is markup; what is between double backquotes stays code."""
    parts = _LITERAL.split(" ".join(text.split()))
    return "".join(
        f"`{part.strip('`')}`" if at % 2 else _SPECIAL.sub(r"\\\1", part)
        for at, part in enumerate(parts)
    )


def code(text: str) -> str:
    """A text as code in a cell of a table."""
    return f"`{text}`".replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def block(text: str, language: str) -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"
