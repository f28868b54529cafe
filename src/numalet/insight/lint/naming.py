"""Several names in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MOST_NAMED: Final = 4


def some_of(names: Sequence[str], joined: str = ", ") -> str:
    more = len(names) - MOST_NAMED
    return joined.join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
