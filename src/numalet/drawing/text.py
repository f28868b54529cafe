"""Estimate the width of a text without a browser, and make one fit.

Widths are those of DejaVu Sans, the widest of the fonts in ``tokens.FONT``: in the others the same
text is narrower, so it fits everywhere.
"""

from __future__ import annotations

from typing import Final

from numalet.drawing import tokens

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


def width_px(text: str, size: str = "body", *, is_bold: bool = False) -> float:
    """Return the maximum width of the text; ``size`` is a name of ``tokens.TEXT_PX``."""
    hundredths = sum(_WIDTHS.get(character, _WIDEST) for character in text)
    return hundredths * tokens.TEXT_PX[size] / 100 * (_BOLD if is_bold else 1)


def shortened(text: str, room_px: float, size: str = "body", *, is_bold: bool = False) -> str:
    """Cut a too wide text off with an ellipsis; empty if not even that fits."""
    if width_px(text, size, is_bold=is_bold) <= room_px:
        return text
    room_px -= width_px(_MORE, size, is_bold=is_bold)
    if room_px < 0:
        return ""
    kept, used_px = 0, width_px(text[0], size, is_bold=is_bold)
    while used_px <= room_px:
        kept += 1
        used_px += width_px(text[kept], size, is_bold=is_bold)
    return text[:kept].rstrip() + _MORE


def lines(text: str, room_px: float, most: int, size: str = "body") -> tuple[str, ...]:
    """Break the text between words into at most ``most`` lines; the last one is cut off."""
    done: list[str] = []
    words = text.split()
    while words and len(done) < most - 1:
        count = 1
        while count < len(words) and width_px(" ".join(words[: count + 1]), size) <= room_px:
            count += 1
        done.append(shortened(" ".join(words[:count]), room_px, size))
        words = words[count:]
    if words:
        done.append(shortened(" ".join(words), room_px, size))
    return tuple(done)
