"""The renderer of all tables: columns say how a row becomes cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from numalet.cli.breaking import Breakable
from numalet.core.model.value import Value
from numalet.wording.foreign_texts import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
    from rich.measure import Measurement
    from rich.table import Table

Row = TypeVar("Row")
Key = TypeVar("Key")
_WIDEST: Final = 100_000
_TWO_BOXES: Final = 68
"""Columns of two boxes side by side."""
_GAP: Final = 2
_CLOSE: Final = 1
"""Blanks between columns, and where there is less room."""


class Column(Value, Generic[Row]):
    """``right`` aligns numbers; ``whole`` cells are never wrapped.

    ``least`` and ``most`` are widths.
    """

    name: str
    cell: Callable[[Row], RenderableType | float]
    right: bool = False
    whole: bool = False
    least: int | None = None
    most: int | None = None


Columns: TypeAlias = Sequence[Column[Row]]


def table(columns: Columns[Row], rows: Iterable[Row], **settings: Any) -> FittedTable:
    """Return a table without lines or outer padding; ``settings`` are those of Rich."""
    return FittedTable(columns, rows, settings, (_GAP, _CLOSE))


class FittedTable:
    """A table as wide as its texts, at most as the screen.

    The widest columns give way first, but none becomes narrower than its widest piece. Where the
    pieces do not fit side by side, each row is a list of its cells, one below the other.
    """

    def __init__(
        self,
        columns: Columns[Any],
        rows: Iterable[Any],
        settings: dict[str, Any],
        gaps: Sequence[int],
    ) -> None:
        self._gaps = gaps
        self._columns = columns
        self._settings = {"box": None, "pad_edge": False, "header_style": "bold"} | settings
        self._rows = [[_drawn(each.cell(row)) for each in columns] for row in rows]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        least, most = map(sum, zip(*self._ranges(console, options), strict=True))
        gaps = len(self._columns) - 1
        return Measurement(least + gaps * self._gaps[-1], most + gaps * self._gaps[0])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        from rich.table import Table

        ranges = self._ranges(console, options)
        if sum(most for _, most in ranges) + self._gaps[0] * (len(ranges) - 1) > options.max_width:
            # The heads break first.
            ranges = self._ranges(console, options, "minimum")
        fitted = fit(ranges, options.max_width, self._gaps)
        if fitted is None:
            yield self._listed()
            return
        gap, widths = fitted
        drawn = Table(padding=(0, gap, 0, 0), **self._settings)
        for column, width in zip(self._columns, widths, strict=True):
            justify: JustifyMethod = "right" if column.right else "left"
            # Whole cells have their width; their heads may break.
            drawn.add_column(column.name, justify=justify, width=width)
        for row in self._rows:
            drawn.add_row(*row)
        yield drawn

    def _ranges(
        self, console: Console, options: ConsoleOptions, of_head: str = "maximum"
    ) -> list[tuple[int, int]]:
        """Return for each column the width of its widest piece, and of its widest line."""
        from rich.measure import Measurement

        wide = options.update_width(_WIDEST)
        ranges = []
        for at, column in enumerate(self._columns):
            sizes = [Measurement.get(console, wide, row[at]) for row in self._rows]
            if self._settings.get("show_header", True):
                head = Measurement.get(console, wide, _drawn(column.name))
                sizes.append(Measurement(head.minimum, getattr(head, of_head)))
            most = max((each.maximum for each in sizes), default=0)
            pieces = max((each.minimum for each in sizes), default=0)
            most = max(min(most, column.most or most), pieces, column.least or 0)
            ranges.append((most if column.whole else max(pieces, column.least or 0), most))
        return ranges

    def _listed(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        drawn = Table.grid(padding=(0, _GAP, 0, 0))
        drawn.add_column(style="bold", no_wrap=True)
        for number, row in enumerate(self._rows):
            if number:
                drawn.add_row()
            for column, cell in zip(self._columns, row, strict=True):
                if isinstance(cell, Breakable) and not cell.text.plain:
                    continue
                drawn.add_row(Text(column.name.replace("\n", " ")), cell)
        return drawn


class Boxes(Value):
    """Boxes in rows of two; one below the other where there is less room."""

    boxes: Sequence[RenderableType]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        return Measurement.get(console, options, self._grid(2))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        yield self._grid(2 if options.max_width >= _TWO_BOXES else 1)

    def _grid(self, count: int) -> Table:
        from rich.table import Table

        grid = Table.grid(padding=(0, 1), expand=True)
        for _ in range(count):
            grid.add_column(ratio=1)
        for at in range(0, len(self.boxes), count):
            grid.add_row(*self.boxes[at : at + count])
        return grid


def fit(
    ranges: Sequence[tuple[int, int]], room: int, gaps: Iterable[int]
) -> tuple[int, list[int]] | None:
    """Return the first gap with which the columns fit, and their widths.

    Of each column the least and the most width are given; the widest give way first. None if the
    columns do not fit side by side.
    """
    limit = max(most for _, most in ranges)
    for gap in gaps:
        left = room - gap * (len(ranges) - 1)
        if sum(least for least, _ in ranges) <= left:
            while sum(widths := [max(least, min(most, limit)) for least, most in ranges]) > left:
                limit -= 1
            return gap, widths
    return None


def _drawn(cell: RenderableType | float) -> RenderableType:
    from rich.text import Text

    if isinstance(cell, Text):
        return Breakable(cell)
    return Breakable(Text(printable(str(cell)))) if isinstance(cell, str | int | float) else cell


def legend(columns: Columns[Row], rows: Iterable[Row]) -> FittedTable:
    """Return a table without heads whose columns are a blank apart."""
    return FittedTable(columns, rows, {"show_header": False}, (_CLOSE,))


def grouped(groups: Iterable[tuple[Key, Iterable[Row]]]) -> Iterator[tuple[Key | None, Row]]:
    """Yield the rows of each group; the key is that of its first row, and None for the others."""
    for key, rows in groups:
        for at, row in enumerate(rows):
            yield (None if at else key), row
