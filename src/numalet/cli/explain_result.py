"""What ``numalet explain`` has found when it is done; both forms of printing begin with it."""

from __future__ import annotations

from dataclasses import dataclass

from numalet.explain.case import Case
from numalet.explain.story import Story
from numalet.explain.tally import Tally


@dataclass(frozen=True, slots=True)
class Result:
    """An explanation that is complete. ``running`` counts pods that only state files know."""

    case: Case
    told: Story
    tallies: tuple[Tally, ...]
    running: int
