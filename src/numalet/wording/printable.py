"""Foreign texts, escaped for a terminal, a page or a spreadsheet."""

from __future__ import annotations


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
