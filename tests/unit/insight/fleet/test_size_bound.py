"""How many pods must go at least, by what they hold."""

from __future__ import annotations

from numalet.insight.fleet.size_bound import Lack, SizeBound


def test_the_largest_pods_are_enough_or_none_are() -> None:
    assert Lack(5, (1, 4, 2)).fewest == 2
    assert Lack(0, (1,)).fewest == Lack(-3, ()).fewest == 0
    assert Lack(8, (1, 4, 2)).fewest is None


def test_all_lacks_of_a_place_count_and_the_best_place() -> None:
    first = [Lack(4, (2, 2, 1)), Lack(3, (1, 1, 1))]
    second = [Lack(4, (4, 0, 0))]
    assert SizeBound([[first]], 3).fewest == 3
    assert SizeBound([[first, second]], 3).fewest == 1
    assert SizeBound([[second], [first]], 3).fewest == 3
    assert SizeBound([], 3).fewest == 0


def test_a_need_without_a_place_is_never_met() -> None:
    never = [Lack(9, (1, 1))]
    bound = SizeBound([[never], [[Lack(1, (1, 1))]]], 2)
    assert bound.fewest is None
    assert not bound.is_within(bound.short, 2, 0)


def test_what_is_left_says_whether_more_can_help() -> None:
    bound = SizeBound([[[Lack(5, (1, 3, 2))]]], 3)
    assert not bound.is_within(bound.short, 1, 0)
    assert bound.is_within(bound.short, 2, 0)
    assert bound.is_within(bound.short, 3, 2)
    after = bound.after(bound.after(bound.short, 1), 2)
    assert after == (0,)
    assert bound.is_within(after, 0, 3)
