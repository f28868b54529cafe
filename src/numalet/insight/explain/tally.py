"""What was tried in one category of changes, and what would have admitted or aligned the pod.

A tally ends the category when ``keep_going`` says so, or after so many decisions that the others
would have to wait too long; it says then that it was ended early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TypeAlias

from numalet.core.config.rules import StartRefused
from numalet.core.model.value import Mutable, Value, field
from numalet.insight.explain import change as changes
from numalet.insight.explain.case import Case
from numalet.insight.explain.change import Change, ChangeOutcome

MOST_TRIED = 200
"""Decisions, or runs of a whole queue, in one category."""


class Category(Enum):
    """Kinds of changes, those first that a user can do most easily."""

    OTHER_MACHINE = "other-machine"
    FREED_PODS = "freed-pods"
    QUEUE_ORDER = "queue-order"
    POLICY_OR_SCOPE = "policy-or-scope"
    WHOLE_UNITS = "whole-units"
    FEWER_CONTAINERS = "fewer-containers"
    SMALLER_REQUEST = "smaller-request"


Goal: TypeAlias = Callable[[ChangeOutcome], bool]
"""Whether the outcome of a change is what is searched for."""


def admitted(result: ChangeOutcome) -> bool:
    """The goal for a rejected pod."""
    return result.admitted


class Offer(Value):
    """A change that reaches the goal, and what it comes to."""

    change: Change
    outcome: ChangeOutcome


class Tally(Mutable):
    """One category: its offers, and how many changes were tried.

    ``refusals`` are changes after which the kubelet would not even start.
    """

    category: Category
    keep_going: Callable[[], bool]
    goal: Goal = admitted
    tried: int = 0
    offers: list[Offer] = field(default_factory=list)
    refusals: list[Offer] = field(default_factory=list)
    ended_early: bool = False

    def goes_on(self) -> bool:
        """Whether one more may be tried."""
        if self.ended_early or self.tried >= MOST_TRIED or not self.keep_going():
            self.ended_early = True
        return not self.ended_early

    def counts_one(self) -> bool:
        """Whether one more may be tried; it counts as tried then."""
        if self.goes_on():
            self.tried += 1
        return not self.ended_early

    def tried_outcome(self, case: Case, change: Change) -> ChangeOutcome | None:
        """What the change comes to; None if nothing more may be tried."""
        return changes.outcome(case, change) if self.counts_one() else None

    def reaches_goal(self, case: Case, change: Change) -> bool:
        """Whether the change reaches the goal; False too if nothing more may be tried."""
        result = self.tried_outcome(case, change)
        return result is not None and self.goal(result)

    def attempt(self, case: Case, change: Change) -> bool:
        """Try a change and keep it if it reaches the goal; whether it does."""
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
    """The tallies in the order of their categories; they are searched cheapest first."""
    places = list(Category)
    return tuple(sorted(tallies, key=lambda each: places.index(each.category)))
