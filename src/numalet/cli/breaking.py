"""Long texts in narrow columns: lists of CPUs, names of pods.

Rich breaks a word without blanks at the column's end: CPUs 38 and 40 become ``38,4`` and ``0``. A
``Breakable`` breaks after given characters, such as commas, and inside a piece only if the piece
alone is too wide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from numalet.core.model.value import Value

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.text import Text


class Breakable(Value):
    """A text that may be broken after blanks and after each of the characters ``after``."""

    text: str
    after: str

    def lines(self, width: int) -> Iterator[str]:
        """Break the text into lines of at most this width; wider pieces stay whole."""
        for given in self.text.split("\n"):
            line = ""
            for piece in self._pieces(given):
                # A trailing blank may stand beyond the width.
                if line and len((line + piece).rstrip()) > width:
                    yield line.rstrip()
                    line = ""
                line += piece
            yield line.rstrip()

    def _pieces(self, text: str) -> list[str]:
        ends = re.escape(self.after)
        return re.findall(rf"[^ {ends}]*[ {ends}]+|[^ {ends}]+", text) or [""]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From the widest piece to the whole text."""
        from rich.measure import Measurement

        rows = self.text.split("\n")
        pieces = [piece.rstrip() for row in rows for piece in self._pieces(row)]
        return Measurement(max(map(len, pieces)), max(map(len, rows)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Draw the lines; cut a piece that is too wide alone."""
        from rich.text import Text

        yield Text("\n".join(self.lines(options.max_width)), overflow="fold")


def cpus(text: str) -> Breakable:
    return Breakable(text, ",")


def name(text: str) -> Breakable:
    return Breakable(text, "/-=,")
