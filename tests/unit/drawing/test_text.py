"""How wide a text is, and how it is made to fit."""

from __future__ import annotations

from numalet.drawing import svg


def test_widths_are_those_of_the_widest_font() -> None:
    # Measured in a browser at 100 px: "node 12" in DejaVu Sans is 376 px wide, W is 99.
    assert 3.70 * 13 < svg.text_width_px("node 12") < 4.2 * 13
    assert svg.text_width_px("W", "page") == 20
    assert svg.text_width_px("中") == 13
    assert svg.text_width_px("abc", is_bold=True) > svg.text_width_px("abc")


def test_what_is_too_wide_is_cut_off() -> None:
    assert svg.shortened_text("short", 200) == "short"
    assert svg.shortened_text("namespace/name", 60) == "names…"
    assert svg.shortened_text("wide", 4) == ""


def test_lines_break_between_words_and_the_last_is_cut_off() -> None:
    words = "node 0 belongs to a group of two"
    assert svg.text_lines(words, 1000, 3) == (words,)
    assert svg.text_lines(words, 110, 2) == ("node 0 belongs", "to a group of…")
    assert svg.text_lines("", 100, 2) == ()
    assert svg.text_lines("a-very-long-word-indeed and", 60, 2) == ("a-very…", "and")
