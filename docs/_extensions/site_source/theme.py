"""The colours of the site, out of those that the pictures have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.drawing import tokens

_FROM: Final = {
    "color-background-primary": "paper",
    "color-background-secondary": "surface",
    "color-background-border": "line",
    "color-foreground-primary": "ink",
    "color-foreground-secondary": "ink-2",
    "color-foreground-muted": "ink-2",
    "color-brand-primary": "accent",
    "color-brand-content": "accent",
    "color-brand-visited": "accent",
    "color-code-background": "surface",
    "color-inline-code-background": "surface",
}
"""Variables of the theme by the names of tokens."""


def light() -> Mapping[str, str]:
    """The theme's variables for a light page."""
    return {
        **{name: tokens.COLOURS[token][0] for name, token in _FROM.items()},
        "font-stack": tokens.FONT,
        "font-stack--monospace": tokens.MONOSPACE,
    }


def dark() -> Mapping[str, str]:
    """The theme's variables for a dark page."""
    return {name: tokens.COLOURS[token][1] for name, token in _FROM.items()}
