"""Texts of others, as they may reach a terminal, a page or a spreadsheet."""

from __future__ import annotations


def printable(text: str, kept: str = "\n") -> str:
    """The text with control characters and those that change its direction escaped.

    ``kept`` are control characters that stay.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in kept else ascii(character)[1:-1]
        for character in text
    )
