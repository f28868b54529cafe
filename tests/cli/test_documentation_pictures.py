"""Pictures in the documentation are what commands draw now, and pages show all of them."""

from __future__ import annotations

import re
import zlib

import pytest

from running import pictures, screenshots

_SHOWN = re.compile(r"!\[([^]]*)\]\(([^)]*/pictures/|docs/pictures/)([^)/]+)\)")
_LEAST_WORDS = 8
_MOST_BYTES = 150_000


@pytest.mark.parametrize("name", sorted({*pictures.COMMANDS, *pictures.MATRICES}))
def test_a_picture_is_what_the_command_draws(name: str) -> None:
    kept = pictures.FOLDER.joinpath(name).read_text(encoding="utf-8")
    assert kept == pictures.drawn(name), "make pictures"


def test_every_picture_is_made_by_a_command() -> None:
    made = {*pictures.COMMANDS, *pictures.MATRICES, *screenshots.SHOTS}
    assert {each.name for each in pictures.FOLDER.iterdir()} == made


@pytest.mark.parametrize("name", sorted(screenshots.SHOTS))
def test_a_picture_of_a_page_has_its_size_and_is_small(name: str) -> None:
    png = pictures.FOLDER.joinpath(name).read_bytes()
    expected = (screenshots.WIDTH_PX, screenshots.SHOTS[name].height_px)
    assert screenshots.size_px(png) == expected, "make pictures"
    assert len(png) < _MOST_BYTES


def test_the_colours_of_a_picture_become_a_palette() -> None:
    """Three colours of four pixels, of which the two that are most frequent may stay."""
    pixels = bytes([255, 255, 255, 255] * 2 + [0, 0, 0, 255] + [9, 9, 9, 255])
    png = screenshots.with_palette(2, 2, pixels, most_colours=2)
    assert screenshots.size_px(png) == (2, 2)
    assert b"PLTE\xff\xff\xff\x00\x00\x00" in png
    assert zlib.decompress(png[png.index(b"IDAT") + 4 :]) == b"\0\0\0" + b"\0\1\1"
    assert screenshots.size_px(b"GIF89a") is None


def test_every_picture_is_shown_and_has_an_alternative_in_words() -> None:
    pages = [pictures.ROOT / "README.md", *pictures.ROOT.joinpath("docs").rglob("*.md")]
    shown = [found for page in pages for found in _SHOWN.findall(page.read_text(encoding="utf-8"))]
    assert {name for _, _, name in shown} == {each.name for each in pictures.FOLDER.iterdir()}
    assert [words for words, _, _ in shown if len(words.split()) < _LEAST_WORDS] == []
