"""The renderer of all tables: columns say how a row becomes cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from numalet.cli.output import printable
from numalet.core.model.value import Value

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

Row = TypeVar("Row")
Key = TypeVar("Key")


class Column(Value, Generic[Row]):
    """``right`` aligns numbers; ``whole`` cells are never wrapped.

    ``least`` and ``most`` are widths; ``ratio`` is the share of the free width, as in Rich.
    """

    name: str
    cell: Callable[[Row], RenderableType | float]
    right: bool = False
    whole: bool = False
    least: int | None = None
    most: int | None = None
    ratio: int | None = None


Columns: TypeAlias = Sequence[Column[Row]]


def table(columns: Columns[Row], rows: Iterable[Row], **settings: Any) -> Table:
    """Return a table without lines or outer padding; ``settings`` are those of Rich."""
    from rich.table import Table

    drawn = Table(**{"box": None, "pad_edge": False, "header_style": "bold"} | settings)
    for each in columns:
        drawn.add_column(
            each.name,
            justify="right" if each.right else "left",
            no_wrap=each.whole,
            min_width=each.least,
            max_width=each.most,
            ratio=each.ratio,
            overflow="ellipsis" if each.whole else "fold",
        )
    for row in rows:
        drawn.add_row(*(_drawn(each.cell(row)) for each in columns))
    return drawn


def _drawn(cell: RenderableType | float) -> RenderableType:
    return printable(str(cell)) if isinstance(cell, str | int | float) else cell


def grouped(groups: Iterable[tuple[Key, Iterable[Row]]]) -> Iterator[tuple[Key | None, Row]]:
    """Yield the rows of each group; the key is that of its first row, and None for the others."""
    for key, rows in groups:
        for at, row in enumerate(rows):
            yield (None if at else key), row
