"""SVG elements on top of the standard library's trees: all input is text, never markup.

The width of a text is estimated without a browser.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from numalet.drawing import tokens
from numalet.wording.foreign_texts import printable

# Widths without a browser are those of DejaVu Sans, the widest of the fonts in ``tokens.FONT``: in
# the others the same text is narrower, so it fits everywhere.
_BY_WIDTH: Final = {
    29: "'ijlI",
    34: " ,.·J:;|/\\",
    41: "-f()[]tr!",
    50: '_*"',
    55: "csz?`",
    60: "kvyxPFL",
    64: "0123456789$abdeghnopquESYT{}é",
    71: "ABCKRVXZ",
    79: "DGHNOQU&",
    84: "#+<=>~w^→",
}
"""Characters by their width in hundredths of the type size."""

_WIDTHS: Final = {
    character: hundredths for hundredths, each in _BY_WIDTH.items() for character in each
}
_WIDEST: Final = 100
_BOLD: Final = 1.12
_MORE: Final = "…"


def text_width_px(text: str, size: str = "body", *, is_bold: bool = False) -> float:
    """Return the maximum width of the text; ``size`` is a name of ``tokens.TEXT_PX``."""
    hundredths = sum(_WIDTHS.get(character, _WIDEST) for character in text)
    return hundredths * tokens.TEXT_PX[size] / 100 * (_BOLD if is_bold else 1)


def shortened_text(text: str, room_px: float, size: str = "body", *, is_bold: bool = False) -> str:
    """Cut a too wide text off with an ellipsis; empty if not even that fits."""
    if text_width_px(text, size, is_bold=is_bold) <= room_px:
        return text
    room_px -= text_width_px(_MORE, size, is_bold=is_bold)
    if room_px < 0:
        return ""
    kept, used_px = 0, text_width_px(text[0], size, is_bold=is_bold)
    while used_px <= room_px:
        kept += 1
        used_px += text_width_px(text[kept], size, is_bold=is_bold)
    return text[:kept].rstrip() + _MORE


def text_lines(text: str, room_px: float, most: int, size: str = "body") -> tuple[str, ...]:
    """Break the text between words into at most ``most`` lines; the last one is cut off."""
    done: list[str] = []
    words = text.split()
    while words and len(done) < most - 1:
        count = 1
        while count < len(words) and text_width_px(" ".join(words[: count + 1]), size) <= room_px:
            count += 1
        done.append(shortened_text(" ".join(words[:count]), room_px, size))
        words = words[count:]
    if words:
        done.append(shortened_text(" ".join(words), room_px, size))
    return tuple(done)


_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids; a pod's log or name may contain them."""


def root(width_px: float, height_px: float, title: str, style: str, css_class: str) -> Element:
    """Return an ``<svg>`` that scales with its container, with name and style sheet."""
    picture = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {number(width_px)} {number(height_px)}",
            "width": number(width_px),
            "height": number(height_px),
            "role": "img",
            "class": f"numalet {css_class}",
        },
    )
    add(picture, "title", title)
    add(picture, "style", style)
    return picture


def add(parent: Element, tag: str, text: str = "", **attributes: str | float | int) -> Element:
    """Add a child; ``css_class`` is its class, other underscores in names stand for hyphens."""
    child = SubElement(
        parent,
        tag,
        {_attribute(name): _clean(number(value)) for name, value in attributes.items()},
    )
    if text:
        child.text = _clean(text)
    return child


def named(parent: Element, words: str) -> Element:
    """Give the element a text alternative, which is also shown to a pointer."""
    title = Element("title")
    title.text = _clean(words)
    parent.insert(0, title)
    return parent


def text_of(picture: Element) -> str:
    return tostring(picture, encoding="unicode")


def number(value: str | float) -> str:
    """Format a number with at most two decimals, without trailing zeros; texts are unchanged."""
    if isinstance(value, str | int):
        return str(value)
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _attribute(name: str) -> str:
    return "class" if name == "css_class" else name.replace("_", "-")


def _clean(text: str) -> str:
    return printable(_NOT_IN_XML.sub("\ufffd", text), "\n\t")
