"""What ``numalet extender`` prefers, as an option of the commands that answer or replay with it."""

from __future__ import annotations

from enum import StrEnum


class ScoreOption(StrEnum):
    """What makes a node better than another one that admits the pod."""

    PACK = "pack"
    SPREAD = "spread"
    CLOSEST = "closest"
