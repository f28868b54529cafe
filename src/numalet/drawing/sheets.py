"""The style sheet, letters of hues, and marks that several kinds of drawings share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from xml.etree.ElementTree import Element

from numalet.drawing import svg, tokens

_SMALL_PX: Final = tokens.TEXT_PX["small"]
SMALLEST_PX: Final = 12
"""Smaller marks have no letter."""


# Letters identify hues on grey prints and for colour-blind readers.
def letter(css_class: str) -> str:
    """Return the letter of a hue, ``A`` for the first; empty for others, which have patterns."""
    number = css_class.removeprefix("hue-")
    return chr(ord("A") + int(number) - 1) if number.isdigit() else ""


def mark_letter(
    parent: Element,
    css_class: str,
    left_px: float,
    top_px: float,
    width_px: float,
    height_px: float,
) -> None:
    """Draw the letter in the middle of a mark of this hue, if the mark is large enough."""
    shown = letter(css_class)
    wide_px = max(svg.text_width_px(shown, "small", is_bold=True), SMALLEST_PX)
    if shown and width_px >= wide_px and height_px >= SMALLEST_PX:
        svg.add(
            parent, "text", shown, css_class=f"letter on-{css_class}", x=left_px + width_px / 2,
            y=top_px + (height_px + _SMALL_PX * 0.72) / 2, text_anchor="middle", aria_hidden="true",
        )  # fmt: skip


def letter_style(scope: str) -> str:
    """Return the rules of hues and letters in drawings of this class, such as ``svg.node``."""
    of_hues = "".join(
        f"{scope} .hue-{at}{{fill:var(--hue-{at})}}"
        f"{scope} text.on-hue-{at}{{fill:var(--on-hue-{at});stroke:var(--hue-{at})}}"
        for at in range(1, tokens.HUES + 1)
    )
    return (
        f"{scope} text.letter{{font-size:{_SMALL_PX}px;font-weight:600;pointer-events:none;"
        "paint-order:stroke;stroke-width:3px}" + of_hues
    )


TITLE_PX: Final = 28
LINE_PX: Final = 20
"""The height of a line of text in the body type."""

STYLE: Final = (
    tokens.custom_properties()
    + f"svg.sheet text{{font:{tokens.TEXT_PX['body']}px {tokens.FONT};fill:var(--ink);"
    "font-variant-numeric:tabular-nums}"
    f"svg.sheet .small{{font-size:{tokens.TEXT_PX['small']}px;fill:var(--ink-2)}}"
    "svg.sheet .strong{font-weight:600}svg.sheet .end{text-anchor:end}"
    "svg.sheet .middle{text-anchor:middle}svg.sheet .quiet{fill:var(--ink-2)}"
    "svg.sheet .part{stroke:var(--paper);stroke-width:1}"
    "svg.sheet .grid{stroke:var(--line);stroke-width:1}"
    "svg.sheet .edge{fill:none;stroke:var(--line)}svg.sheet .ground{fill:var(--surface)}"
    "svg.sheet .free{fill:var(--free);stroke:var(--line)}svg.sheet .kept{fill:var(--kept)}"
    "svg.sheet .holder{fill:var(--holder)}svg.sheet .shared{fill:var(--shared)}"
    "svg.sheet .accent{fill:var(--accent)}svg.sheet .good{fill:var(--good)}"
    "svg.sheet .warning{fill:var(--warning)}svg.sheet .bad{fill:var(--bad)}"
    "svg.sheet .tick{fill:none;stroke:var(--ink);stroke-width:2}"
    "svg.sheet .hollow{fill:none;stroke-width:2}svg.sheet .hollow.good{stroke:var(--good)}"
    "svg.sheet .hollow.warning{stroke:var(--warning)}svg.sheet .hollow.bad{stroke:var(--bad)}"
    "svg.sheet .step{fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round}"
    "svg.sheet .area{fill:var(--accent);fill-opacity:.24}"
    "svg.sheet a:focus-visible{outline:2px solid var(--accent)}" + letter_style("svg.sheet")
)


def picture(
    width_px: float, height_px: float, title: str, main_fact: str, kind: str, style: str = ""
) -> Element:
    """Return an empty drawing of this kind; screen readers read ``main_fact``."""
    made = svg.root(width_px, height_px, title, STYLE + style, f"sheet {kind}")
    description = svg.add(made, "desc", main_fact)
    made.remove(description)
    made.insert(1, description)
    return made


def heading(picture: Element, title: str, width_px: int) -> None:
    words = svg.shortened_text(title, width_px, is_bold=True)
    svg.add(picture, "text", words, css_class="strong", x=0, y=16)


def legend_px(names: Iterable[str], width_px: int) -> int:
    return max((top_px + 24 for _, top_px in _legend_places(names, width_px)), default=0)


def legend(picture: Element, names: Mapping[str, str], width_px: int, top_px: int) -> None:
    """Draw names with their colours, in as many lines as they need."""
    group = svg.add(picture, "g", css_class="legend")
    places = _legend_places(names, width_px)
    for (name, css_class), (left_px, below_px) in zip(names.items(), places, strict=True):
        y = top_px + below_px
        svg.add(group, "rect", css_class=css_class, x=left_px, y=y + 1, width=12, height=12)
        mark_letter(group, css_class, left_px, y + 1, 12, 12)
        words = svg.shortened_text(name, width_px - left_px - 16, "small")
        svg.add(group, "text", words, css_class="small", x=left_px + 16, y=y + 11)


def _legend_places(names: Iterable[str], width_px: int) -> list[tuple[float, int]]:
    sizes = ((16 + svg.text_width_px(name, "small"), 16) for name in names)
    return [(left_px, row * 16) for left_px, row in in_rows(sizes, width_px)]


def in_rows(sizes_px: Iterable[tuple[float, float]], width_px: float) -> list[tuple[float, int]]:
    """Place marks of these widths, each with a gap after it, in as many rows as they need.

    Return the left end and the row of each.
    """
    places = []
    left_px, row = 0.0, 0
    for wide_px, gap_px in sizes_px:
        if left_px and left_px + wide_px > width_px:
            left_px, row = 0.0, row + 1
        places.append((left_px, row))
        left_px += wide_px + gap_px
    return places
