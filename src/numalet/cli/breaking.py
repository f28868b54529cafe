"""Where a text may break: after a blank, and after the comma or semicolon of a list.

Rich breaks a word without blanks at the end of the line: CPUs 38 and 40 become ``38,4`` and ``0``.
The console (``output.literal_console``) and the columns of a table (``tables.table``) break their
texts here, so that an item of a list, a range of CPUs and the id of a device stay whole. Only a
piece that is wider than the line is cut.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from numalet.core.model.value import Value

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.text import Text

LISTS: Final = ",;"
NAMES: Final = "/-=,"
NAME_WIDTH: Final = 20
"""Columns of a name that is broken."""
WORDS: Final = re.compile(r"\s*\S+\s*|\s+")
ITEMS: Final = re.compile(r".*?[,;] +|.+")
"""Units that stay together if they fit on a line: of sentences, and of cells."""


class Breakable(Value):
    """A text that may be broken after blanks and after each of the characters ``after``.

    It needs ``least`` columns, unless it is narrower.
    """

    text: Text
    after: str = LISTS
    least: int = 0

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From the widest piece to the widest line."""
        from rich.measure import Measurement

        least, most = widths(self.text.plain, self.after)
        return Measurement(max(least, min(self.least, most)), most)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield broken(self.text, options.max_width, self.after)


def name(text: str) -> Breakable:
    """Return the name of a pod: on a terminal, a long one may break after its hyphens, too."""
    from rich.text import Text

    if not sys.stdout.isatty():
        return Breakable(Text(text))
    return Breakable(Text(text), NAMES, NAME_WIDTH)


def words(text: str) -> Breakable:
    """Return a text that is broken after blanks alone, such as names with commas."""
    from rich.text import Text

    return Breakable(Text(text), "")


def widths(text: str, after: str = LISTS) -> tuple[int, int]:
    """Return the columns of the widest piece, and of the widest line."""
    from rich.cells import cell_len

    lines = text.split("\n")
    words = (word for line in lines for word in WORDS.findall(line))
    pieces = (each.strip() for word in words for each in _pieces(word, after))
    return max(map(cell_len, pieces), default=0), max(map(cell_len, lines))


def lines(text: str, width: int, after: str = LISTS, units: re.Pattern[str] = ITEMS) -> list[str]:
    """Break one line of text into lines of at most this many columns."""
    begins = [0, *_begins(text, width, after, units), len(text)]
    return [text[begin:end].rstrip() for begin, end in pairwise(begins)]


def broken(text: Text, width: int, after: str = LISTS, units: re.Pattern[str] = ITEMS) -> Text:
    """Return the text in lines of at most this many columns."""
    lines = [
        part
        for line in text.split("\n", allow_blank=True)
        for part in line.divide(_begins(line.plain, width, after, units))
    ]
    for line in lines:
        line.rstrip()
    return text.blank_copy("\n").join(lines)


def _begins(text: str, width: int, after: str, units: re.Pattern[str]) -> list[int]:
    """Return the offsets at which new lines begin."""
    from rich.cells import cell_len, chop_cells

    begins: list[int] = []
    at = column = 0
    for unit in units.findall(text):
        for piece in _to_fit(unit, width, after):
            # A trailing blank may stand beyond the width.
            if column and column + cell_len(piece.rstrip()) > width:
                begins.append(at)
                column = 0
            *cut, _ = chop_cells(piece.rstrip(), width) or [""]
            for each in cut:
                at += len(each)
                begins.append(at)
            rest = piece[sum(map(len, cut)) :]
            at += len(rest)
            column += cell_len(rest)
    return begins


def _to_fit(unit: str, width: int, after: str) -> Iterator[str]:
    """Break an item or a word only if it is wider than a line."""
    from rich.cells import cell_len

    if cell_len(unit.rstrip()) <= width:
        yield unit
        return
    for word in WORDS.findall(unit):
        yield from [word] if cell_len(word.rstrip()) <= width else _pieces(word, after)


def _pieces(word: str, after: str) -> list[str]:
    if not after:
        return [word]
    ends = re.escape(after)
    return re.findall(rf"[^{ends}]*[{ends}]+\s*|[^{ends}]+", word)
