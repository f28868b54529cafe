"""The kubelet's own walk over hints, where distances are missing; laws in property/test_merging."""

from __future__ import annotations

import pytest

from numalet.core.hints import walking
from numalet.core.hints.filtering import Ruled
from numalet.core.hints.fitness import FAR, Distances
from numalet.core.hints.provider import Candidates, Hint
from numalet.core.hints.requirement import OpenSets
from numalet.core.hints.rule import HintRule
from numalet.core.hints.walking import NoDistance, TooManyComparisons
from numalet.core.model import numa_mask

IDS = (0, 1, 4)
ALL = numa_mask.of(IDS)
DISTANCES = Distances(
    {i: {0: 20, 1: 12, 4: FAR} for i in IDS},
    dict.fromkeys(IDS, 3),
)


def listed(*node_sets: tuple[int, ...], preferred: bool = True) -> tuple[Hint, ...]:
    return tuple(Hint(numa_mask.of(ids), preferred) for ids in node_sets)


def test_sets_that_rows_know_are_compared() -> None:
    assert walking.merge([listed((0,), (1,))], ALL, DISTANCES) == Hint(0b10, True)


def test_a_set_that_is_alone_of_its_size_is_compared_with_nothing() -> None:
    assert walking.merge([listed((4,), (0, 1))], ALL, DISTANCES) == Hint(1 << 4, True)


def test_two_sets_of_one_size_need_a_distance() -> None:
    found = walking.merge([listed((0,), (4,))], ALL, DISTANCES)
    assert found == NoDistance(1 << 4, 4)


def test_the_order_of_hints_decides_whether_a_comparison_is_ever_made() -> None:
    early = [listed((0, 4), (0, 1), preferred=False) + listed((1,))]
    late = [listed((1,)) + listed((0, 4), (0, 1), preferred=False)]

    assert isinstance(walking.merge(early, ALL, DISTANCES), NoDistance)
    assert walking.merge(late, ALL, DISTANCES) == Hint(0b10, True)


def test_an_empty_list_leaves_nothing_to_compare() -> None:
    assert walking.merge([listed((0,), (4,)), ()], ALL, DISTANCES) == Hint(ALL, False)
    disjoint = [listed((0,)), listed((4,))]
    assert walking.merge(disjoint, ALL, DISTANCES) == Hint(ALL, False)


def test_a_walk_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "MOST_STEPS", 3)
    lists = [listed((0, 1), (0,), preferred=False)] * 2
    assert walking.merge(lists, ALL, DISTANCES) == TooManyComparisons(4)


def test_sets_by_rule_are_not_written_out_on_large_machines() -> None:
    nodes = numa_mask.of(range(13)) | 1 << 20
    rule = HintRule(nodes, OpenSets(nodes, numa_mask.EMPTY, ()), 1, ())
    rows = {i: dict.fromkeys(numa_mask.ids(nodes), 10) for i in numa_mask.ids(nodes)}
    far = Distances(rows, dict.fromkeys(rows, 14))
    offers = [Ruled(rule, Candidates(()))]
    assert walking.merge(offers, nodes, far) == TooManyComparisons(20)


def test_combinations_that_come_to_the_same_are_gone_through_once() -> None:
    # All hints of the first list leave the same set for the second one.
    lists = [listed((0, 1), (0, 1), (0, 1)), listed((0,), (1,)), listed((0,), (1,))]
    assert walking.merge(lists, ALL, DISTANCES) == Hint(0b10, False)


def test_what_all_prefer_goes_before_what_is_closer() -> None:
    mixed = [(*listed((1,), preferred=False), *listed((0,)))]
    assert walking.merge(mixed, ALL, DISTANCES) == Hint(0b1, True)


def test_a_list_that_takes_any_node_changes_no_set() -> None:
    anywhere = (Hint(None, True),)
    assert walking.merge([listed((0,)), anywhere], ALL, DISTANCES) == Hint(0b1, True)
