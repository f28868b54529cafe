"""Where long lists and names break in a narrow column."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.measure import Measurement

from numalet.cli import breaking
from numalet.cli.breaking import Breakable


@pytest.mark.parametrize(
    ("given", "width", "expected"),
    [
        (breaking.cpus("0,2,38,40"), 80, ["0,2,38,40"]),
        (breaking.cpus("0,2,38,40"), 6, ["0,2,", "38,40"]),
        (breaking.cpus("0-3,32-35 (8)"), 10, ["0-3,32-35", "(8)"]),
        (breaking.cpus("10-19,30-39"), 4, ["10-19,", "30-39"]),
        (breaking.cpus("0,1\n2"), 80, ["0,1", "2"]),
        (breaking.cpus(""), 80, [""]),
        (breaking.name("default/web-6d4f8b9c7-x2x4z"), 16, ["default/web-", "6d4f8b9c7-x2x4z"]),
        (breaking.name("max-allowable-numa-nodes=16"), 14, ["max-allowable-", "numa-nodes=16"]),
    ],
)
def test_a_text_breaks_after_its_marks_and_blanks(
    given: Breakable, width: int, expected: list[str]
) -> None:
    assert expected == list(given.lines(width))


def test_a_piece_that_is_too_wide_alone_is_cut_where_the_column_ends() -> None:
    console = Console(file=io.StringIO(), width=4)
    console.print(breaking.cpus("10-19,30"))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "10-1\n9,\n30\n"


def test_no_column_needs_more_than_the_text_or_less_than_a_piece() -> None:
    console = Console(width=80)
    measured = Measurement.get(console, console.options, breaking.cpus("1,10-19,3"))
    assert measured == Measurement(6, 9)
