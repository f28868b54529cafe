"""How many cases a test tries that could try any number: few in every run, all when asked for.

Only for cases that are drawn, or that are of a kind with many others. What was recorded of a
kubelet is always tried whole, once: a second way to the same decisions tries those of each kind.
"""

from __future__ import annotations

import os
from typing import Final, TypeVar

Chosen = TypeVar("Chosen")

VARIABLE: Final = "NUMALET_THOROUGH"


def of(every_run: Chosen, thorough: Chosen) -> Chosen:
    """The number or the cases for this run; ``make thorough`` asks for the second ones."""
    return thorough if os.environ.get(VARIABLE) else every_run
