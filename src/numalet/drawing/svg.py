"""SVG elements on top of the standard library's trees: all input is text, never markup."""

from __future__ import annotations

import re
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from numalet.wording.printable import printable

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
