"""Attempts in one category of changes, and the changes that reach the goal.

``ended_early``: ``keep_going`` returned False, or the category used up its decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from numalet.core.config.rules import StartRefused
from numalet.core.model.value import Mutable, Value, field
from numalet.insight.explain import change as changes
from numalet.insight.explain.cases import Case
from numalet.insight.explain.change import Change, ChangeOutcome
from numalet.insight.explain.explanation_types import Category

MOST_TRIED = 200
"""Limit of decisions, or replays of a whole queue, in one category."""


Goal: TypeAlias = Callable[[ChangeOutcome], bool]


def admitted(result: ChangeOutcome) -> bool:
    """The goal for a rejected pod."""
    return result.admitted


class Offer(Value):
    change: Change
    outcome: ChangeOutcome


class Tally(Mutable):
    """One category: its offers, and the number of attempts.

    ``refusals`` are changes with which the kubelet would not even start.
    """

    category: Category
    keep_going: Callable[[], bool]
    goal: Goal = admitted
    tried: int = 0
    offers: list[Offer] = field(default_factory=list)
    refusals: list[Offer] = field(default_factory=list)
    ended_early: bool = False

    def goes_on(self) -> bool:
        if self.ended_early or self.tried >= MOST_TRIED or not self.keep_going():
            self.ended_early = True
        return not self.ended_early

    def counts_one(self) -> bool:
        if self.goes_on():
            self.tried += 1
        return not self.ended_early

    def tried_outcome(self, case: Case, change: Change) -> ChangeOutcome | None:
        return changes.outcome(case, change) if self.counts_one() else None

    def reaches_goal(self, case: Case, change: Change) -> bool:
        """Return whether the change reaches the goal; False too if no attempt is left."""
        result = self.tried_outcome(case, change)
        return result is not None and self.goal(result)

    def attempt(self, case: Case, change: Change) -> bool:
        """Try a change and keep it if it reaches the goal; return whether it does."""
        result = self.tried_outcome(case, change)
        if result is None:
            return False
        is_reached = self.goal(result)
        if is_reached:
            self.offers.append(Offer(change, result))
        elif isinstance(result.decision, StartRefused):
            self.refusals.append(Offer(change, result))
        return is_reached

    def offer(self, change: Change, result: ChangeOutcome) -> None:
        """Keep a change that is known to reach the goal."""
        self.offers.append(Offer(change, result))


def in_order(tallies: Iterable[Tally]) -> tuple[Tally, ...]:
    """Sort the tallies by the ease of their changes; they are found in the order of cost."""
    places = list(Category)
    return tuple(sorted(tallies, key=lambda each: places.index(each.category)))
