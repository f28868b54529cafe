"""Tables and sentences at any width: each item of a list is whole, and no line is too wide."""

from __future__ import annotations

import io
import operator
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from numalet.cli import output
from numalet.cli.tables import Column, table

ITEMS = st.one_of(
    st.builds("{}-{}".format, st.integers(0, 999), st.integers(1000, 9999)),
    st.integers(0, 999).map(str),
    st.from_regex(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}", fullmatch=True),
    st.from_regex(r"profile:[a-z0-9]{1,8}(-[a-z0-9]{1,6}){0,2}", fullmatch=True),
)
CELLS = st.tuples(st.sampled_from([",", ", ", "; "]), st.lists(ITEMS, min_size=1, max_size=12))
ROWS = st.integers(1, 5).flatmap(
    lambda count: st.lists(st.lists(CELLS, min_size=count, max_size=count), min_size=1, max_size=4)
)
WIDTHS = st.integers(48, 160)


def drawn(what: object, width: int) -> list[str]:
    screen = output.literal_console(file=io.StringIO(), width=width)
    screen.print(what)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().splitlines()


def words(texts: list[str]) -> list[str]:
    return sorted(re.findall(r"[^\s,;]+", " ".join(texts)))


@given(ROWS, WIDTHS, st.sets(st.integers(0, 4)))
def test_each_item_of_a_table_is_whole(
    rows: list[list[tuple[str, list[str]]]], width: int, right: set[int]
) -> None:
    texts = [[by.join(items) for by, items in row] for row in rows]
    columns = [
        Column[list[str]](f"HEAD{at}", operator.itemgetter(at), right=at in right)
        for at in range(len(rows[0]))
    ]

    lines = drawn(table(columns, texts), width)

    assert max(map(len, lines)) <= width
    shown = [each for each in words(lines) if not each.startswith("HEAD")]
    assert shown == words([cell for row in texts for cell in row])


@given(CELLS, WIDTHS)
def test_each_item_of_a_sentence_is_whole(cell: tuple[str, list[str]], width: int) -> None:
    by, items = cell
    lines = drawn(Text(f"CPUs {by.join(items)} are free"), width)
    assert max(map(len, lines)) <= width
    assert words(lines) == words(["CPUs", *items, "are", "free"])
