"""How wide a text is, and how it is made to fit."""

from __future__ import annotations

from numalet.drawing import text


def test_widths_are_those_of_the_widest_font() -> None:
    # Measured in a browser at 100 px: "node 12" in DejaVu Sans is 376 px wide, W is 99.
    assert 3.70 * 13 < text.width_px("node 12") < 4.2 * 13
    assert text.width_px("W", "page") == 20
    assert text.width_px("中") == 13
    assert text.width_px("abc", is_bold=True) > text.width_px("abc")


def test_what_is_too_wide_is_cut_off() -> None:
    assert text.shortened("short", 200) == "short"
    assert text.shortened("namespace/name", 60) == "names…"
    assert text.shortened("wide", 4) == ""


def test_lines_break_between_words_and_the_last_is_cut_off() -> None:
    words = "node 0 belongs to a group of two"
    assert text.lines(words, 1000, 3) == (words,)
    assert text.lines(words, 110, 2) == ("node 0 belongs", "to a group of…")
    assert text.lines("", 100, 2) == ()
    assert text.lines("a-very-long-word-indeed and", 60, 2) == ("a-very…", "and")
