"""Pictures in the documentation are what commands draw now, and pages show all of them."""

from __future__ import annotations

import re

import pytest

from running import pictures

_SHOWN = re.compile(r"!\[([^]]*)\]\(([^)]*/pictures/|docs/pictures/)([^)/]+)\)")
_LEAST_WORDS = 8


@pytest.mark.parametrize("name", sorted({*pictures.COMMANDS, *pictures.MATRICES}))
def test_a_picture_is_what_the_command_draws(name: str) -> None:
    kept = pictures.FOLDER.joinpath(name).read_text(encoding="utf-8")
    assert kept == pictures.drawn(name), "make pictures"


def test_every_picture_is_made_by_a_command() -> None:
    made = {*pictures.COMMANDS, *pictures.MATRICES}
    assert {each.name for each in pictures.FOLDER.iterdir()} == made


def test_every_picture_is_shown_and_has_an_alternative_in_words() -> None:
    pages = [pictures.ROOT / "README.md", *pictures.ROOT.joinpath("docs").rglob("*.md")]
    shown = [found for page in pages for found in _SHOWN.findall(page.read_text(encoding="utf-8"))]
    assert {name for _, _, name in shown} == {each.name for each in pictures.FOLDER.iterdir()}
    assert [words for words, _, _ in shown if len(words.split()) < _LEAST_WORDS] == []
