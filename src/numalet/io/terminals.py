"""Which escape sequences the environment of this process allows on a terminal."""

from __future__ import annotations

import os


def is_dumb() -> bool:
    """Return whether the terminal has no escape sequences, such as that of an editor."""
    return os.environ.get("TERM") in ("dumb", "unknown")


def has_styles() -> bool:
    """Return whether bold and coloured text may be written."""
    return not os.environ.get("NO_COLOR") and not is_dumb()
