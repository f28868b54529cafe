"""How many cases a test tries that could try any number: few in every run, all when asked for.

Only for cases that are drawn, or that are of a kind with many others. What was recorded of a
kubelet is always tried whole, once: a second way to the same decisions tries those of each kind.
"""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "NUMALET_THOROUGH"


def of(every_run: int, thorough: int) -> int:
    """The number for this run; ``make thorough`` asks for the second one."""
    return thorough if os.environ.get(VARIABLE) else every_run
