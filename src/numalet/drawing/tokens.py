"""Design tokens: sizes, colours and the style sheet that every drawing and page shares.

Lengths are in px and multiples of ``GRID_PX``. A colour has a light and a dark value; both are CSS
custom properties, so that a picture follows ``prefers-color-scheme`` by itself. A shape, a pattern
or a word accompanies each colour, for grey prints and colour-blind readers.

There is one accent (the reader's choice) and three states (good, warning, bad). Twelve hues
identify holders of CPUs and memory; further ones are neutral. The hues differ in lightness as well
as in hue, after the palettes of Okabe and Ito and of Paul Tol, which remain distinct to
colour-blind people.
"""

from __future__ import annotations

from typing import Final

GRID_PX: Final = 4

TEXT_PX: Final = {"small": 11, "body": 13, "title": 16, "page": 20}
"""The type scale."""

FONT: Final = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', 'Liberation Sans', sans-serif"
)
MONOSPACE: Final = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"

MOVE_MS: Final = 200
"""Duration of a movement; 0 with ``prefers-reduced-motion``."""

HUES: Final = 12

COLOURS: Final[dict[str, tuple[str, str]]] = {
    "paper": ("#ffffff", "#15181c"),
    "surface": ("#f5f6f8", "#1d2126"),
    "line": ("#d0d5dc", "#3a414a"),
    "ink": ("#1b1f24", "#e8ebef"),
    "ink-2": ("#4d5663", "#aab3bf"),
    "accent": ("#0b57d0", "#8ab4f8"),
    "good": ("#0a6b3d", "#57c98a"),
    "warning": ("#8a5300", "#f0b445"),
    "bad": ("#b3261e", "#ff8a80"),
    "free": ("#ffffff", "#15181c"),
    "shared": ("#e3e8ee", "#2b323a"),
    "kept": ("#9aa4b1", "#6b7684"),
    "holder": ("#6f7b8a", "#8d98a6"),
    "hue-1": ("#0072b2", "#56a9dd"),
    "hue-2": ("#e69f00", "#f2bd4b"),
    "hue-3": ("#009e73", "#3cc9a0"),
    "hue-4": ("#cc79a7", "#e3a2c6"),
    "hue-5": ("#56b4e9", "#9bd4f5"),
    "hue-6": ("#d55e00", "#ff8f47"),
    "hue-7": ("#332288", "#9a8cf0"),
    "hue-8": ("#b5a800", "#e8df5a"),
    "hue-9": ("#882255", "#d977a6"),
    "hue-10": ("#117733", "#62b87c"),
    "hue-11": ("#8c510a", "#cf9a58"),
    "hue-12": ("#44aa99", "#83d6c8"),
}
"""Light and dark values by name."""


def _lightness(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.2126 * red * red + 0.7152 * green * green + 0.0722 * blue * blue


def _on(colour: str) -> str:
    """Return the text colour on this one: the more readable of black and white."""
    return "#000000" if _lightness(colour) > 0.2 else "#ffffff"


COLOURS.update(
    {
        f"on-{name}": (_on(light), _on(dark))
        for name, (light, dark) in [*COLOURS.items()]
        if name == "holder" or name.startswith("hue-")
    }
)


def custom_properties() -> str:
    """Return the colours as CSS custom properties, light by default, dark if preferred.

    Paper is always light. A drawing in a separate file has its own background, since it may be
    shown on any.
    """
    light = "".join(f"--{name}:{pair[0]};" for name, pair in COLOURS.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in COLOURS.items())
    return (
        f":root,svg.numalet{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root,svg.numalet{{{dark}}}}}"
        "svg.numalet:root{background:var(--paper)}"
    )
