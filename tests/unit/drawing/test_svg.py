"""Elements of SVG: what is put in stays text."""

from __future__ import annotations

from xml.etree import ElementTree

from numalet.drawing import svg


def test_text_and_attributes_never_become_markup() -> None:
    picture = svg.root(10, 10.5, "<b>&", "", "test")
    svg.add(picture, "text", "</svg><script>\x00\ud800", x=1, data_pod='"><script>')
    svg.named(svg.add(picture, "rect", css_class="one two"), "a & b")
    read = ElementTree.fromstring(svg.text_of(picture))
    assert not [each for each in read.iter() if each.tag.endswith("script")]
    assert read.attrib["viewBox"] == "0 0 10 10.5"
    assert read[2].text == "</svg><script>\ufffd\ufffd"
    assert read[3][0].text == "a & b"
    assert read[3].attrib == {"class": "one two"}


def test_numbers_are_short() -> None:
    assert [svg.number(each) for each in (1, 1.0, 1.5, 2.456, "as it is")] == [
        "1", "1", "1.5", "2.46", "as it is",
    ]  # fmt: skip


def test_no_control_character_of_a_text_is_in_a_drawing() -> None:
    bad = "a\x1b\x7f\x9b\u202ez"
    picture = svg.root(1, 1, bad, "", "c")
    svg.add(picture, "text", bad, href=bad)
    assert svg.text_of(picture).isprintable()
