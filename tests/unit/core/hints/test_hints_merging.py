"""The merge, case by case: worked examples with their results written down."""

from __future__ import annotations

import pytest

from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints import merging, policies
from numalet.core.hints.filtering import lists_of, single_node_only
from numalet.core.hints.fitness import Distances
from numalet.core.hints.merging import merge
from numalet.core.hints.provider import (
    Candidates,
    Hint,
    Impossible,
    NoPreference,
    NotListed,
    ProviderHints,
)
from numalet.core.model import numa_mask

D2 = 0b11
ZERO, ONE, BOTH = 0b01, 0b10, 0b11


def p(mask: int | None) -> Hint:
    return Hint(mask, True)


def n(mask: int | None) -> Hint:
    return Hint(mask, False)


ALL_SINGLES = [p(ZERO), p(ONE), n(BOTH)]

EXAMPLES = [
    ("no lists", [], p(BOTH), p(None), True),
    ("one resource", [ALL_SINGLES], p(ZERO), p(ZERO), True),
    ("two resources", [ALL_SINGLES, [p(ONE)]], p(ONE), p(ONE), True),
    ("cut down", [[p(BOTH)], [p(ZERO)]], n(ZERO), n(None), False),
    ("neediest sets the size", [[p(BOTH)], ALL_SINGLES], n(BOTH), n(None), False),
    ("impossible", [[n(None)]], n(BOTH), n(None), False),
    ("nobody cares", [[p(None)], [p(None)]], p(BOTH), p(None), True),
    ("disjoint", [[p(ZERO)], [p(ONE)]], n(BOTH), n(None), False),
    ("an empty list", [[], ALL_SINGLES], n(BOTH), n(None), False),
]


@pytest.mark.parametrize(
    ("lists", "best", "single", "strict"),
    [example[1:] for example in EXAMPLES],
    ids=[example[0] for example in EXAMPLES],
)
def test_worked_examples_of_two_nodes(
    lists: list[list[Hint]], best: Hint, single: Hint, strict: bool
) -> None:
    decide = policies.decide
    best_effort = decide(TopologyPolicy.BEST_EFFORT, lists, D2, None)
    restricted = decide(TopologyPolicy.RESTRICTED, lists, D2, None)
    single_node = decide(TopologyPolicy.SINGLE_NUMA_NODE, lists, D2, None)

    assert best_effort == policies.Merged(best, True)
    assert restricted == policies.Merged(best, strict)
    assert single_node == policies.Merged(single, strict)


def test_on_one_node_single_numa_node_stores_any_node() -> None:
    merged = policies.decide(TopologyPolicy.SINGLE_NUMA_NODE, [[p(1)]], 1, None)

    assert merged == policies.Merged(p(None), True)


def test_the_policy_none_merges_nothing() -> None:
    with pytest.raises(ValueError, match="none"):
        policies.decide(TopologyPolicy.NONE, [], D2, None)


def test_the_intersection_may_name_a_node_that_is_not_offered() -> None:
    devices = [Hint(m, m == 0b10) for m in numa_mask.by_size(range(4)) if m & 0b10]
    cpus = [Hint(m, m.bit_count() == 1) for m in numa_mask.by_size(range(4)) if m & 0b1100]

    assert merge([devices, cpus], 0b1111) == n(0b0001)


ROWS = ((10, 11, 12, 12), (11, 10, 12, 12), (12, 12, 10, 11), (12, 12, 11, 10))
TABLE = Distances({i: dict(enumerate(row)) for i, row in enumerate(ROWS)})
PAIRS_BUT_01 = [p(m) for m in numa_mask.by_size(range(4)) if m.bit_count() == 2 and m != 0b0011]


def test_without_distances_the_lower_numbers_win() -> None:
    assert merge([PAIRS_BUT_01], 0b1111) == p(0b0101)


def test_with_distances_the_closer_pair_wins() -> None:
    assert merge([PAIRS_BUT_01], 0b1111, TABLE) == p(0b1100)


def test_a_closer_but_larger_set_never_wins() -> None:
    far = Distances({0: {0: 10, 1: 99}, 1: {0: 99, 1: 10}, 2: {}})
    assert merge([[p(BOTH), p(0b01)]], D2, far) == p(0b01)


def test_sizes_above_the_wanted_one_come_last_and_small_first() -> None:
    lists = [[n(0b0001)], [n(0b0111), n(0b1111)], [n(None)]]
    wide = [[n(0b0111), n(0b1111)], [n(0b0111), n(0b1111)]]

    assert merge(lists, 0b1111) == n(0b0001)
    assert merge(wide, 0b1111) == n(0b0111)


def test_node_ids_that_the_machine_lacks_are_cut_off_after_comparing() -> None:
    assert merge([[p(0b101)], [p(0b101)]], 0b001) == p(0b001)
    assert merge([[p(0b101)], [p(0b001)]], 0b001) == n(0b001)


def test_answers_become_lists() -> None:
    family = Candidates((p(ZERO),))
    reason = NotListed(ONE)
    answers: list[ProviderHints] = [{}, {"a": NoPreference(), "b": Impossible(reason), "c": family}]

    assert lists_of(answers) == [(p(None),), (p(None),), (n(None),), (p(ZERO),)]


class KnownSets(Candidates):
    """A list of which it is known at once what it prefers."""

    @property
    def preferred_masks(self) -> list[int]:
        return [hint.mask for hint in self.listed if hint.preferred and hint.mask is not None]


AT_ZERO, AT_ONE = KnownSets((p(ZERO), n(BOTH))), KnownSets((p(ONE), n(BOTH)))
IMPOSSIBLE = Impossible(NotListed(ONE))


@pytest.mark.parametrize(
    ("answers", "best", "single"),
    [
        ([{}, {"a": NoPreference()}], p(BOTH), p(None)),
        ([{"a": AT_ZERO, "b": NoPreference()}, {"c": AT_ZERO}], p(ZERO), p(ZERO)),
        ([{"a": KnownSets((p(BOTH),))}], p(BOTH), n(None)),
        ([{"a": AT_ZERO}, {"b": AT_ONE}], n(ZERO), n(None)),
        ([{"a": AT_ZERO}, {"b": IMPOSSIBLE}], n(ZERO), n(None)),
        ([{"a": IMPOSSIBLE}, {"b": Candidates(())}], n(BOTH), n(None)),
        ([{"a": AT_ZERO}, {"b": Candidates((n(ZERO), p(ONE)))}], n(ZERO), n(None)),
    ],
)
def test_what_all_prefer_is_known_without_lists(
    answers: list[ProviderHints], best: Hint, single: Hint
) -> None:
    for policy, expected in (
        (TopologyPolicy.BEST_EFFORT, policies.Merged(best, True)),
        (TopologyPolicy.RESTRICTED, policies.Merged(best, best.preferred)),
        (TopologyPolicy.SINGLE_NUMA_NODE, policies.Merged(single, single.preferred)),
    ):
        assert policies.of_answers(policy, answers, D2, None) == expected
        assert policies.decide(policy, lists_of(answers), D2, None) == expected


def test_a_candidate_list_knows_what_it_does_not_list() -> None:
    family = Candidates((p(ZERO),))

    assert family.why_not(ZERO) is None
    assert family.why_not(ONE) == NotListed(ONE)


def test_single_node_lists_keep_preferred_single_nodes_and_any_node() -> None:
    assert single_node_only([[p(ZERO), n(ONE), p(BOTH), p(None), n(None)]]) == [(p(ZERO), p(None))]


def test_long_families_are_counted_and_short_ones_folded() -> None:
    everything = set(range(1, 1 << 8))

    assert merging.reachable([everything, everything], 0xFF) == set(range(1 << 8))
    assert merging.reachable([{0b11}, {0b110}], 0xFF) == {0b10}


def test_counting_works_on_node_ids_with_gaps() -> None:
    families = [{0b10001, 0b10000}, {0b00001, 0b10001}]

    assert merging.by_counting(families, 0b10001) == {0b10001, 0b10000, 0b00001, 0}


def test_complete_lists_give_the_best_single_node_without_a_preferred_set() -> None:
    complete = [
        [Hint(mask, mask.bit_count() == size) for mask in numa_mask.by_size(range(12))]
        for size in (1, 2, 3)
    ]

    assert n(ZERO) == merge(complete, (1 << 12) - 1)


def test_many_sets_of_one_size_are_not_compared_by_distance_beforehand() -> None:
    # Twelve nodes have 924 sets of six; the lists leave two of them.
    low, high = 0b000000111111, 0b111111000000
    rows = {
        i: {j: 10 if i == j else 11 if min(i, j) > 5 else 20 for j in range(12)} for i in range(12)
    }
    closer_above = Distances(rows)
    lists = [[n(low), n(high)], [n(low), n(high), n(0b111111111111)]]

    assert n(high) == merge(lists, 0b111111111111, closer_above)
    assert n(low) == merge(lists, 0b111111111111)
