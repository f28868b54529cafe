"""How wide a text is at most, in whichever font of ``tokens.FONT`` it is shown, and cut to fit.

Drawings are made where no font is at hand, so widths are estimates: those of DejaVu Sans, the
widest of these fonts, with a little room.
"""

from __future__ import annotations

from typing import Final

_NARROW: Final = frozenset("il.,:;'|!jI()[]ftr-/ ")
_WIDE: Final = frozenset("mMWw@%")
_BOLD: Final = 1.14


def width_px(text: str, size_px: float, *, bold: bool = False) -> float:
    """The width of a line of text of this size, rather too large than too small."""
    ems = sum(map(_ems, text))
    return ems * size_px * (_BOLD if bold else 1)


def shortened(text: str, room_px: float, size_px: float, *, bold: bool = False) -> str:
    """The text if it fits into this room, else its beginning and ``…``; empty if not even that."""
    per_em = size_px * (_BOLD if bold else 1)
    room_em, used_em, fitting = room_px / per_em, 0.0, 0
    for at, character in enumerate(text):
        used_em += _ems(character)
        if used_em > room_em:
            break
        if used_em + _ems("…") <= room_em:
            fitting = at + 1
    else:
        return text
    kept = text[:fitting].rstrip(" ,:;·")
    return f"{kept}…" if kept else ""


def _ems(character: str) -> float:
    if character in _NARROW:
        return 0.42
    if character in _WIDE:
        return 1.0
    if character.isascii():
        return 0.8 if character.isupper() else 0.645
    return 1.0 if character in "…·" else 1.4
