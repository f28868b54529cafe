"""Drawings of the tokens, and of placeholders for a missing node.

The page ``/design`` of the dashboard shows both; use it to check changes of ``tokens``.
"""

from __future__ import annotations

from typing import Final

from numalet.drawing import svg, tokens
from numalet.drawing.node.pen import STYLE

_COLUMN_PX: Final = 160
_ROW_PX: Final = 32
_SAMPLE_WIDTH_PX: Final = 360

STATES: Final = {
    "empty": ("ink-2", "0", "No NUMA nodes", "The machine reports none."),
    "loading": ("ink-2", "…", "Not read yet", "The node appears when it has been read."),
    "refused": ("bad", "x", "The kubelet would not start", "Its complaint is above the drawing."),
    "stale": ("warning", "!", "Not current", "This is the last known state of the node."),
    "gone": ("bad", "x", "The agent has stopped", "This page returns by itself when it is back."),
}
"""A colour, a sign, a heading and a sentence for each state, by its name."""


def palette(width_px: int = 960) -> str:
    """Draw all colours with their names, the type scale and the grid."""
    columns = max(1, width_px // _COLUMN_PX)
    names = [*tokens.COLOURS]
    rows = -(-len(names) // columns)
    type_top = rows * _ROW_PX + 8
    height_px = type_top + len(tokens.TEXT_PX) * _ROW_PX
    picture = svg.root(width_px, height_px, "Colours and sizes of text", STYLE, "node")
    for at, name in enumerate(names):
        left, top = at % columns * _COLUMN_PX, at // columns * _ROW_PX
        light, dark = tokens.COLOURS[name]
        swatch = svg.add(
            picture, "rect", x=left + 1, y=top + 1, width=24, height=24, rx=4,
            style=f"fill:var(--{name});stroke:var(--line)",
        )  # fmt: skip
        svg.named(swatch, f"{name}: {light}, in the dark {dark}")
        svg.add(picture, "text", name, css_class="figure", x=left + 32, y=top + 17)
    for at, (name, size_px) in enumerate(tokens.TEXT_PX.items()):
        words = f"{name}, {size_px} px: 0123456789"
        shown = svg.shortened_text(words, width_px, name)
        style = f"font-size:{size_px}px"
        svg.add(picture, "text", shown, x=0, y=type_top + at * _ROW_PX + 24, style=style)
    return svg.text_of(picture)


def state(name: str) -> str:
    """Draw the placeholder for a node in one of ``STATES``."""
    colour, sign, heading, sentence = STATES[name]
    picture = svg.root(_SAMPLE_WIDTH_PX, 72, f"{heading}: {sentence}", STYLE, "node")
    svg.add(
        picture, "rect", css_class="block", x=1, y=1, width=_SAMPLE_WIDTH_PX - 2, height=70, rx=4
    )
    svg.add(
        picture, "text", sign, css_class="heading", x=20, y=32, text_anchor="middle",
        style=f"fill:var(--{colour})", aria_hidden="true",
    )  # fmt: skip
    room_px = _SAMPLE_WIDTH_PX - 48
    shown = svg.shortened_text(heading, room_px, is_bold=True)
    svg.add(picture, "text", shown, css_class="heading", x=40, y=32)
    sentence = svg.shortened_text(sentence, room_px, "small")
    svg.add(picture, "text", sentence, css_class="small", x=40, y=52)
    return svg.text_of(picture)
