"""Tokens and states drawn: every one of them, with a text alternative."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from numalet.drawing import design, tokens

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("width_px", [100, 960])
def test_the_palette_has_every_colour(width_px: int) -> None:
    read = ElementTree.fromstring(design.palette(width_px))
    titles = [each.text or "" for each in read.iter(f"{_SVG}title")][1:]
    assert [each.partition(":")[0] for each in titles] == [*tokens.COLOURS]
    _, _, _, height_px = map(float, read.attrib["viewBox"].split())
    places = [float(each.attrib["y"]) for each in read.iter(f"{_SVG}text")]
    assert max(places) <= height_px


@pytest.mark.parametrize("name", design.STATES)
def test_every_state_is_said_in_words(name: str) -> None:
    read = ElementTree.fromstring(design.state(name))
    _, sign, heading, sentence = design.STATES[name]
    assert [each.text for each in read.iter(f"{_SVG}text")] == [sign, heading, sentence]
    assert read[0].text == f"{heading}: {sentence}"
