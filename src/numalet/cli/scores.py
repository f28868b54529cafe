"""The node scoring of ``numalet extender``, as an option of commands that answer or replay."""

from __future__ import annotations

from enum import StrEnum


class ScoreOption(StrEnum):
    """The criterion for choosing among nodes that admit the pod."""

    PACK = "pack"
    SPREAD = "spread"
    CLOSEST = "closest"
