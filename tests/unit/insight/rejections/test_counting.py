"""Rejections within a window."""

from __future__ import annotations

from numalet.insight.rejections import counting
from numalet.insight.rejections.counting import NO_WINDOW, Window
from numalet.insight.rejections.rules import BreakerRules
from values.pod_storms import OWNER, START, rejection

RULES = BreakerRules(storm_budget=3)


def window(*moments: float, now: float = START, before: Window = NO_WINDOW) -> Window:
    pods = [rejection(f"p{at}", f"n{at % 2}", each) for at, each in enumerate(moments)]
    return counting.counted(before, pods, now, RULES)


def test_so_many_within_the_window_are_a_storm() -> None:
    (storm,) = counting.storms(window(START - 70, START - 59, START), START, RULES).values()
    assert storm.key[0] == OWNER
    assert not storm.is_over_budget
    assert [each.at_seconds for each in storm.recent] == [START - 59, START]
    (storm,) = counting.storms(window(START - 59, START - 1, START), START, RULES).values()
    assert storm.is_over_budget


def test_a_storm_that_is_over_is_known_by_the_pods_that_it_left() -> None:
    late = START + 1000
    (storm,) = counting.storms(
        window(START, START + 59, START + 59.5, now=late), late, RULES
    ).values()
    assert (storm.is_over_budget, storm.was_over_budget) == (False, True)
    (storm,) = counting.storms(
        window(START, START + 59, START + 60, now=late), late, RULES
    ).values()
    assert (storm.is_over_budget, storm.was_over_budget) == (False, False)
    assert storm.last_at_seconds == START + 60


def test_a_pod_that_was_deleted_counts_until_the_window_has_passed() -> None:
    before = window(START - 59, START)
    gone = counting.counted(before, (), START + 0.5, RULES)
    assert set(gone) == {"p0", "p1"}
    assert set(counting.counted(gone, (), START + 1, RULES)) == {"p1"}


def test_a_moment_that_is_still_to_come_is_now_and_stays_it() -> None:
    ahead = window(START + 3600)
    assert ahead["p0"].at_seconds == START
    later = window(START + 3600, now=START + 50, before=ahead)
    assert later["p0"].at_seconds == START
    set_back = window(START + 3600, now=START - 7200, before=ahead)
    assert set_back["p0"].at_seconds == START - 7200


def test_rejections_are_counted_by_node_after_a_moment_of_each() -> None:
    (storm,) = counting.storms(window(START - 3, START - 2, START - 1), START, RULES).values()
    assert storm.by_node({}) == {"n0": 2, "n1": 1}
    assert storm.by_node({"n0": START - 3, "n1": START}) == {"n0": 1}


def test_the_order_in_which_pods_are_named_does_not_count() -> None:
    pods = [rejection(f"p{at}", f"n{at}", START) for at in range(5)]
    one = counting.counted(NO_WINDOW, pods, START, RULES)
    other = counting.counted(NO_WINDOW, reversed(pods), START, RULES)
    assert list(one.items()) == list(other.items())
