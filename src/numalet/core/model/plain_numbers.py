"""Sizes without a unit that can not have been meant: ``128`` of memory is 128 bytes."""

from __future__ import annotations

import re
from typing import Final

LEAST_BYTES: Final = 1 << 20
"""A plain number from here on is read literally, as bytes."""

_PLAIN: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?", re.ASCII)


def lacks_unit(text: str) -> bool:
    """Whether a size is a plain number, not 0, of fewer bytes than anybody would ask for."""
    plain = text.strip()
    return _PLAIN.fullmatch(plain) is not None and 0 < float(plain) < LEAST_BYTES
