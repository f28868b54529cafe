"""Where long lists and names break in a narrow column."""

from __future__ import annotations

import sys

import pytest
from rich.console import Console
from rich.measure import Measurement
from rich.text import Text

from numalet.cli import breaking
from numalet.cli.breaking import Breakable

NAME = "default/web-6d4f8b9c7-x2x4z"


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("0,2,38,40", 80, ["0,2,38,40"]),
        ("0,2,38,40", 6, ["0,2,", "38,40"]),
        ("0-3,32-35 (8)", 10, ["0-3,32-35", "(8)"]),
        ("10-19,30-39", 6, ["10-19,", "30-39"]),
        ("0,1\n2", 80, ["0,1", "2"]),
        ("", 80, [""]),
        ("  two blanks", 6, ["  two", "blanks"]),
        ("on {0,1} or", 7, ["on", "{0,1}", "or"]),
        ("max-allowable-numa-nodes", 10, ["max-allowa", "ble-numa-n", "odes"]),
        ("日本,日本", 5, ["日本,", "日本"]),
        (NAME, 16, ["default/web-6d4f", "8b9c7-x2x4z"]),
    ],
)
def test_a_text_breaks_after_blanks_and_the_items_of_a_list(
    text: str, width: int, expected: list[str]
) -> None:
    assert breaking.broken(Text(text), width).plain.split("\n") == expected


def test_a_name_breaks_after_its_hyphens_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(width=16)
    options = console.options
    assert Measurement.get(console, options.update_width(80), breaking.name(NAME)).minimum == 27
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert Measurement.get(console, options.update_width(80), breaking.name(NAME)).minimum == 20
    lines = console.render_lines(breaking.name(NAME), pad=False)
    assert [line[0].text for line in lines] == ["default/web-", "6d4f8b9c7-x2x4z"]


def test_a_broken_text_keeps_its_styles() -> None:
    text = Text.assemble(("0-3,", "red"), ("4-7", "blue"))
    assert Text.assemble(("0-3,", "red"), "\n", ("4-7", "blue")) == breaking.broken(text, 5)


def test_no_column_needs_more_than_the_text_or_less_than_a_piece() -> None:
    console = Console(width=80)
    measured = Measurement.get(console, console.options, Breakable(Text("1,10-19,3")))
    assert measured == Measurement(6, 9)
