"""Drawings as they are kept: the same elements, classes and places.

``NUMALET_WRITE_DRAWINGS=1`` writes them anew; then the difference is to be read, and seen.
"""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from numalet.drawing import node_drawing
from values import node_charts

_FOLDER = Path(__file__).parent / "golden"


def _structure(text: str) -> list[str]:
    """An element a line, but for the style sheet, which has a test of its own."""
    lines = []
    for each in ElementTree.fromstring(text).iter():
        tag = each.tag.partition("}")[2]
        words = "" if tag == "style" else (each.text or "").strip()
        attributes = sorted(f"{name}={value}" for name, value in each.attrib.items())
        lines.append(" ".join([tag, *attributes, words]))
    return lines


@pytest.mark.parametrize("name", node_charts.GOLDEN)
def test_the_drawing_is_as_it_was(name: str) -> None:
    drawn = node_drawing.draw(node_charts.GOLDEN[name]())
    path = _FOLDER / f"{name}.svg"
    if os.environ.get("NUMALET_WRITE_DRAWINGS"):
        path.write_text(drawn.replace("><", ">\n<") + "\n", encoding="utf-8")
    assert _structure(drawn) == _structure(path.read_text(encoding="utf-8"))
