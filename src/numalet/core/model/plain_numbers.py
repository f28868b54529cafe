"""Sizes that probably lack a unit: ``128`` of memory is 128 bytes."""

from __future__ import annotations

import re
from typing import Final

LEAST_BYTES: Final = 1 << 20
"""Plain numbers from this size on are plausible as bytes."""

_PLAIN: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?", re.ASCII)


def lacks_unit(text: str) -> bool:
    plain = text.strip()
    return _PLAIN.fullmatch(plain) is not None and 0 < float(plain) < LEAST_BYTES
