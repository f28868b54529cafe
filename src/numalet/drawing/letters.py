"""Letters that identify hues without colour: on grey prints, and for colour-blind readers."""

from __future__ import annotations

from typing import Final
from xml.etree.ElementTree import Element

from numalet.drawing import svg, text, tokens

_SMALL_PX: Final = tokens.TEXT_PX["small"]
_SMALLEST_PX: Final = 12
"""Smaller marks have no letter."""


def letter(css_class: str) -> str:
    """Return the letter of a hue, ``A`` for the first; empty for others, which have patterns."""
    number = css_class.removeprefix("hue-")
    return chr(ord("A") + int(number) - 1) if number.isdigit() else ""


def mark(
    parent: Element,
    css_class: str,
    left_px: float,
    top_px: float,
    width_px: float,
    height_px: float,
) -> None:
    """Draw the letter in the middle of a mark of this hue, if the mark is large enough."""
    shown = letter(css_class)
    wide_px = max(text.width_px(shown, "small", is_bold=True), _SMALLEST_PX)
    if shown and width_px >= wide_px and height_px >= _SMALLEST_PX:
        svg.add(
            parent, "text", shown, css_class=f"letter on-{css_class}", x=left_px + width_px / 2,
            y=top_px + (height_px + _SMALL_PX * 0.72) / 2, text_anchor="middle", aria_hidden="true",
        )  # fmt: skip


def style(scope: str) -> str:
    """Return the rules of hues and letters in drawings of this class, such as ``svg.node``."""
    of_hues = "".join(
        f"{scope} .hue-{at}{{fill:var(--hue-{at})}}"
        f"{scope} text.on-hue-{at}{{fill:var(--on-hue-{at})}}"
        for at in range(1, tokens.HUES + 1)
    )
    return (
        f"{scope} text.letter{{font-size:{_SMALL_PX}px;font-weight:600;pointer-events:none}}"
        + of_hues
    )
