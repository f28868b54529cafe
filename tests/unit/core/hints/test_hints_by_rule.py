"""The merge where hints are known by rule: many nodes, groups, copies, budgets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints import filtering, nearest_set, policies, remaining_set, rule_merging
from numalet.core.hints.filtering import Offer
from numalet.core.hints.fitness import Distances
from numalet.core.hints.lowest_set import LowestSet
from numalet.core.hints.multi_knapsack import Budget, BudgetUsedUp, SharingOut
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import Candidates, Hint, Impossible, NoPreference
from numalet.core.hints.requirement import OpenSets, Requirement, by_node
from numalet.core.hints.rule import HintRule
from numalet.core.hints.rule_merging import BestHint
from numalet.core.managers.memory.reasons import NoNodeFits
from numalet.core.model import numa_mask
from oracles import open_sets

MANY = 64
ALL = (1 << MANY) - 1
NO_LIMIT = 1 << 60


class Family:
    """A family that would rather not be listed."""

    def __init__(self, rule: HintRule) -> None:
        self.rule = rule

    def hints(self) -> Sequence[Hint]:
        raise AssertionError("2^64 hints")

    def why_not(self, mask: int) -> None:
        return None


def ruled(rule: HintRule, copies: int = 1) -> list[Offer]:
    return filtering.lists_of([{f"r{at}": Family(rule) for at in range(copies)}])


def additive(
    need: int, weights: Sequence[int], preferred_size: int, islands: tuple[int, ...] = ()
) -> HintRule:
    """A rule with one requirement; nodes of islands are not in the open part."""
    inside = numa_mask.of(range(len(weights))) & ~numa_mask.union(islands)
    sets = OpenSets(inside, 0, (by_node(need, dict(enumerate(weights))),))
    return HintRule(numa_mask.of(range(len(weights))), sets, preferred_size, islands)


def test_a_preferred_set_is_found_among_sixty_four_nodes() -> None:
    cpus = additive(4, [0] * 40 + [4] * 24, preferred_size=1)
    memory = additive(8, [9] * 50 + [7] * 7 + [8] * 7, preferred_size=1)

    assert BestHint(Hint(1 << 40, True)) == rule_merging.merge([*ruled(cpus), *ruled(memory)], ALL)


def test_a_preferred_set_of_thirty_two_nodes_is_found() -> None:
    memory = additive(32, [0, 1] * 32, preferred_size=32)
    odd = numa_mask.of(range(1, MANY, 2))

    assert BestHint(Hint(odd, True)) == rule_merging.merge(ruled(memory), ALL)


def test_sizes_that_differ_rule_out_a_preferred_set() -> None:
    cpus = additive(1, [1] * MANY, preferred_size=1)
    memory = additive(2, [1] * MANY, preferred_size=2)

    assert BestHint(Hint(0b11, False)) == rule_merging.merge([*ruled(cpus), *ruled(memory)], ALL)


def test_a_group_in_use_is_preferred_before_unused_nodes_of_higher_numbers() -> None:
    memory = additive(2, [1] * MANY, preferred_size=2, islands=(0b101,))

    assert BestHint(Hint(0b101, True)) == rule_merging.merge(ruled(memory, copies=2), ALL)


def test_a_group_in_use_may_be_all_that_can_come_out() -> None:
    memory = HintRule(ALL, OpenSets(0, 0, ()), preferred_size=1, islands=(0b1100,))

    assert BestHint(Hint(0b1100, False)) == rule_merging.merge(ruled(memory), ALL)


def test_a_rule_that_names_nodes_which_there_are_not_is_cut_as_a_list_is() -> None:
    # Two of three nodes are needed, one was preferred; node 2 is none of the machine's.
    memory = additive(2, [1, 1, 1], preferred_size=1)
    listed = [Hint(mask, False) for mask in numa_mask.by_size(range(3)) if memory.offers(mask)]

    by_rule = rule_merging.merge(ruled(memory), 0b011)
    assert by_rule == rule_merging.merge([listed], 0b011) == BestHint(Hint(0b011, False))


def test_fewest_nodes_together_are_found_by_rule_and_in_lists() -> None:
    cpus = additive(2, [1, 1, 0, 0, 0], preferred_size=2)
    memory = additive(8, [9] * 5, preferred_size=1)
    lists = [
        [
            Hint(mask, mask.bit_count() == rule.preferred_size)
            for mask in range(1, 32)
            if rule.offers(mask)
        ]
        for rule in (cpus, memory)
    ]

    decided = [
        policies.decided_together(TopologyPolicy.RESTRICTED, offers, 0b11111, None)
        for offers in ([*ruled(cpus), *ruled(memory)], lists)
    ]
    assert decided == [Merged(Hint(0b00011, True), True)] * 2


def test_a_list_that_is_empty_leaves_all_nodes() -> None:
    memory = ruled(additive(2, [1] * 4, preferred_size=2))
    empty_list = filtering.lists_of([{"r": Candidates(())}])
    empty_rule = ruled(HintRule(0b1111, OpenSets(0, 0, ()), preferred_size=1))

    assert BestHint(Hint(0b0011, True)) == rule_merging.merge(memory, 0b1111)
    for empty in (empty_list, empty_rule):
        assert BestHint(Hint(0b1111, False)) == rule_merging.merge([*memory, *empty], 0b1111)


def test_only_the_empty_set_leaves_all_nodes() -> None:
    left = HintRule(0b11, OpenSets(0b01, 0, ()), preferred_size=1)
    right = HintRule(0b11, OpenSets(0b10, 0, ()), preferred_size=1)

    assert BestHint(Hint(0b11, False)) == rule_merging.merge([*ruled(left), *ruled(right)], 0b11)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (0b0110, Hint(0b0110, True)),
        (0b0010, Hint(0b0010, False)),
        (None, Hint(0b0011, True)),
    ],
)
def test_an_explicit_list_is_matched_against_a_rule(mask: int | None, expected: Hint) -> None:
    memory = additive(2, [1] * 4, preferred_size=2)
    listed = filtering.lists_of([{"r": Candidates((Hint(mask, True),))}])

    assert BestHint(expected) == rule_merging.merge([*ruled(memory), *listed], 0b1111)


def test_what_has_no_preference_and_what_is_impossible_are_lists_of_any_node() -> None:
    none = NoPreference()
    never = Impossible(NoNodeFits("c"))

    assert [(Hint(None, True),), (Hint(None, False),)] == filtering.lists_of(
        [{"a": none, "b": never}]
    )


def test_single_numa_node_asks_for_single_nodes_only() -> None:
    cpus = additive(4, [0] * 40 + [4] * 24, preferred_size=1)
    memory = additive(8, [9] * 50 + [7] * 14, preferred_size=1)
    offers = [*ruled(cpus), *ruled(memory)]
    merged = policies.decide(TopologyPolicy.SINGLE_NUMA_NODE, offers, ALL, None)

    assert Merged(Hint(1 << 40, True), admit=True) == merged


def test_single_numa_node_has_nothing_where_one_node_is_never_preferred() -> None:
    memory = additive(2, [1] * MANY, preferred_size=2)
    merged = policies.decide(TopologyPolicy.SINGLE_NUMA_NODE, ruled(memory), ALL, None)

    assert Merged(Hint(None, False), admit=False) == merged


HARD = (29, 20, 48, 54, 46, 23, 21, 30, 51, 47, 51, 42, 50, 41)
"""Weights of 14 nodes, of which two families can do without 123 each: hard to use up well."""


class Listed(Family):
    """A family that is listed without complaint."""

    def hints(self) -> Sequence[Hint]:
        masks = range(1, self.rule.nodes + 1)
        return [Hint(mask, False) for mask in masks if self.rule.offers(mask)]


def hard_to_share(family: type[Family] = Family) -> list[Offer]:
    rules = [additive(sum(HARD) - 123, HARD, preferred_size=size) for size in (13, 12)]
    return filtering.lists_of([{"a": family(rules[0]), "b": family(rules[1])}])


@pytest.mark.parametrize("policy", [TopologyPolicy.BEST_EFFORT, TopologyPolicy.RESTRICTED])
def test_a_stopped_search_gives_a_set_that_can_come_out_and_says_so(
    policy: TopologyPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_nodes = (1 << 14) - 1
    exact = policies.decide(policy, hard_to_share(), all_nodes, None)
    monkeypatch.setattr(rule_merging, "MOST_NODES_SEARCHED", 0)
    stopped = policies.decide(policy, hard_to_share(), all_nodes, None)

    admit = policy is TopologyPolicy.BEST_EFFORT
    assert Merged(Hint(0b00001101111111, False), admit) == exact
    assert Merged(Hint(0b11000001111111, False), admit, bounded=True) == stopped


def test_few_nodes_are_written_out_where_the_search_was_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rule_merging, "MOST_NODES_LISTED", 14)
    monkeypatch.setattr(rule_merging, "MOST_NODES_SEARCHED", 0)
    found = rule_merging.merge(hard_to_share(Listed), (1 << 14) - 1)

    assert BestHint(Hint(0b00001101111111, False)) == found


def test_sets_that_need_more_than_is_wanted_are_taken_as_small_as_they_come() -> None:
    """An island makes one node enough; but the explicit list rules it out."""
    memory = additive(6, [1] * 8, preferred_size=1, islands=(1 << 7,))
    hints = (Hint(0b1111111, False), Hint(1 << 70, False))
    listed = filtering.lists_of([{"r": Candidates(hints)}])

    once, twice = (rule_merging.merge([*ruled(memory, copies), *listed], 0xFF) for copies in (1, 2))
    assert BestHint(Hint(0b111111, False)) == once
    assert BestHint(Hint(0b11111, False)) == twice


def test_the_size_is_not_proved_when_the_search_for_it_is_stopped() -> None:
    sets = OpenSets(0b1111, 0, (Requirement(4, ((0b0011, 3), (0b0110, 3), (0b1100, 3))),))
    problem = SharingOut(0b1111, [open_sets.rule_of(sets)], Budget(0))

    assert remaining_set.Remaining(0b1111, False) == remaining_set.some(problem, 1, None)


def test_broken_groups_that_share_a_node_meet_in_it() -> None:
    memory = HintRule(0b111, OpenSets(0b110, 0, ()), 1, islands=(0b011, 0b110))
    cpus = additive(3, [1] * 3, preferred_size=3)
    found = rule_merging.merge([*ruled(memory, copies=2), *ruled(cpus)], 0b111, budget=NO_LIMIT)

    assert BestHint(Hint(0b011, False)) == found


def test_nodes_of_a_socket_are_closer() -> None:
    by_socket = Distances(
        {
            i: {j: 10 if i == j else 12 if i // 4 == j // 4 else 32 for j in range(16)}
            for i in range(16)
        }
    )
    sets = OpenSets(0xFFFF, 0, (by_node(4, dict.fromkeys((3, 4, 5, 6, 7, 9), 1)),))

    assert nearest_set.best(LowestSet(sets), 4, by_socket) == 0b11110000
    assert nearest_set.best(LowestSet(sets), 5, by_socket) == 0b11110001


def test_a_branch_that_is_as_far_as_one_that_distances_ended_is_not_searched_again() -> None:
    by_socket = Distances(
        {
            i: {j: 10 if i == j else 12 if i // 3 == j // 3 else 20 for j in range(6)}
            for i in range(6)
        }
    )
    parts = ((0b000001, 1), (0b000100, 2), (0b001000, 1), (0b010000, 2))
    sets = OpenSets(0b111111, 0, (Requirement(4, parts),))

    # Neither socket has enough by itself. Of the sets with two nodes of one socket and one of the
    # other this is the lowest that has.
    assert nearest_set.best(LowestSet(sets), 3, by_socket) == 0b001101


def test_many_requirements_at_once_are_still_met_exactly() -> None:
    """Nodes are alike but for what they are good at; the weighted sum of rows decides."""
    weights = [[(at * prime) % 97 for at in range(30)] for prime in (31, 47, 59, 71)]
    needs = [int(0.72 * sum(sorted(row)[-12:])) for row in weights]
    rows = tuple(by_node(n, dict(enumerate(row))) for n, row in zip(needs, weights, strict=True))
    search = LowestSet(OpenSets((1 << 30) - 1, 0, rows))
    found = search.lowest(12)

    assert found is not None
    assert (found.bit_count(), all(row.is_met_by(found) for row in rows)) == (12, True)
    assert search.lowest(11) is None or search.fewest() == 11


def test_an_upper_limit_alone_can_make_a_search_long() -> None:
    """Nodes of three of eight sockets, one of which is small and one split up."""
    sockets = [numa_mask.of(range(at, 48, 8)) for at in range(8)]
    span = Requirement(3, tuple((socket, 1) for socket in sockets), most=3)
    search = LowestSet(OpenSets((1 << 48) - 1, 0, ()), [span])

    assert numa_mask.of(sorted([*range(0, 48, 8), *range(1, 48, 8), *range(2, 48, 8)])) == (
        search.lowest(18)
    )
    assert search.lowest(19) is None


def test_a_device_of_two_nodes_is_lost_with_the_second() -> None:
    sets = OpenSets(0b111, 0, (Requirement(1, ((0b011, 1), (0b100, 0))),))
    problem = SharingOut(0b111, [open_sets.rule_of(sets)], Budget(NO_LIMIT))

    assert (problem.share(0b001, 0, 0), problem.share(0b101, 0, 0)) == (0b001, 0b101)
    assert problem.share(0b011, 0, 0) is None
    assert not problem.can_be_shared_greedily(0b011)


def test_copies_of_a_family_are_not_tried_twice_in_the_same_state() -> None:
    sets = OpenSets(0b1111, 0, (by_node(7, dict.fromkeys(range(4), 3)),))
    rule = open_sets.rule_of(sets)
    problem = SharingOut(0b1111, [rule] * 3, Budget(12))

    assert problem.share(0b1111, 0, 0) is None


def test_a_size_is_passed_over_if_only_the_exact_search_can_tell() -> None:
    """Two families can do without 5 of each: 3 + 3 and 3 is too much, though 9 is below 10."""
    sets = OpenSets(0b1111, 0, (by_node(4, {0: 3, 1: 3, 2: 3}),))
    rules = [open_sets.rule_of(sets), open_sets.rule_of(sets)]
    problem = SharingOut(0b0111, rules, Budget(NO_LIMIT))

    assert not problem.is_too_much(0b111, 0, 0)
    assert problem.share(0b111, 0, 0) is None
    one_more = SharingOut(0b0111, [rules[0]], Budget(NO_LIMIT))
    assert remaining_set.Remaining(0b011, True) == remaining_set.best(one_more, 1, None)


def test_a_node_is_offered_alone_only_if_it_has_enough() -> None:
    rule = additive(4, [4, 3, 5], preferred_size=1)

    assert list(rule.singles()) == [0b001, 0b100]
    assert [Hint(0b001, True), Hint(0b100, True)] == list(rule.preferred_singles())


def test_one_node_is_not_preferred_where_two_sockets_are() -> None:
    sockets = Requirement(2, ((0b01, 1), (0b10, 1)), most=2)
    rule = HintRule(0b11, OpenSets(0b11, 0, ()), preferred_size=2, spanning=sockets)

    assert (list(rule.singles()), list(rule.preferred_singles())) == ([0b01, 0b10], [])


@pytest.mark.parametrize(("need", "smallest"), [(7, 2), (12, 4)])
def test_the_smallest_size_is_found_where_sums_alone_do_not_tell(need: int, smallest: int) -> None:
    """Nodes of 3 each: two families that can do without 5 each do without two nodes, not three."""
    rule = open_sets.rule_of(OpenSets(0b1111, 0, (by_node(need, dict.fromkeys(range(4), 3)),)))
    found = remaining_set.some(SharingOut(0b1111, [rule, rule], Budget(NO_LIMIT)), 1, None)

    assert (smallest, True) == (found.mask.bit_count(), found.exact)


def test_a_set_is_found_below_nodes_that_it_does_without() -> None:
    # One family has enough on node 2 alone, the other one can do without no node.
    weights, needs = ((1, 2, 4, 1), (2, 2, 3, 2)), (4, 8)
    rules = [
        open_sets.rule_of(OpenSets(0b1111, 0, (by_node(need, dict(enumerate(each))),)))
        for need, each in zip(needs, weights, strict=True)
    ]

    found = remaining_set.best(SharingOut(0b1111, rules, Budget(NO_LIMIT)), 1, None)
    assert remaining_set.Remaining(0b0100, True) == found


def test_where_only_sockets_decide_the_smallest_set_on_few_enough_sockets_is_preferred() -> None:
    sockets = Requirement(1, ((0b0011, 1), (0b1100, 1)), most=1)
    enough = by_node(3, {0: 1, 1: 1, 2: 2, 3: 2})
    rule = HintRule(0b1111, OpenSets(0b1111, 0, (enough,)), preferred_size=1, spanning=sockets)

    assert BestHint(Hint(0b1100, True)) == rule_merging.merge(ruled(rule), 0b1111)


def test_copies_meet_where_a_broken_group_and_unused_nodes_overlap() -> None:
    """One copy takes {0,1}, the other {1,2}; node 4 alone would be the next best."""
    open_part = OpenSets(0b00110, 0, (by_node(2, {1: 1, 2: 1}),))
    memory = HintRule(0b11111, open_part, preferred_size=3, islands=(0b00011, 0b10000))

    assert BestHint(Hint(0b10, False)) == rule_merging.merge(ruled(memory, copies=2), 0b11111)
    assert BestHint(Hint(0b10000, False)) == rule_merging.merge(ruled(memory), 0b11111)


def test_a_group_that_promised_more_than_it_gives_is_not_the_last_to_be_looked_at() -> None:
    """Node 6 can not be missed, so that {0,6} can shrink to {6} only; {1} is lower."""
    cpus = HintRule(0x7F, OpenSets(0x7F, 0, (by_node(10, {6: 10}),)), preferred_size=2)
    hints = (Hint(0b1000001, False), Hint(0b0000010, False))
    listed = filtering.lists_of([{"r": Candidates(hints)}])

    assert BestHint(Hint(0b10, False)) == rule_merging.merge([*ruled(cpus), *listed], 0x7F)


def test_what_failed_with_little_slack_is_tried_again_with_more() -> None:
    needs = (by_node(2, {0: 3, 1: 1, 2: 1, 3: 5}), by_node(10, {0: 4, 1: 4, 2: 5, 3: 3}))
    rules = [open_sets.rule_of(OpenSets(0b11111, 0, (need,))) for need in needs]

    assert SharingOut(0b1111, rules, Budget(NO_LIMIT)).share(0b1111, 0, 0) == 0b1111


def test_of_equally_close_sets_the_lowest_is_found_though_another_is_known() -> None:
    rule = open_sets.rule_of(OpenSets(0b1111, 0, (by_node(1, dict.fromkeys(range(4), 1)),)))
    equal = Distances({i: dict.fromkeys(range(4), 10) for i in range(4)})
    problem = SharingOut(0b1111, [rule, rule], Budget(NO_LIMIT))
    found = nearest_set.best_remaining(problem, 2, 0b1100, equal)

    assert remaining_set.Remaining(0b0011, True) == found


@pytest.mark.parametrize(("visits", "is_exact"), [(4, False), (8, False), (1_000, True)])
def test_a_search_for_the_closest_set_that_is_stopped_twice_has_one_that_meets_the_need(
    visits: int, is_exact: bool
) -> None:
    weights = {0: 4, 1: 7, 2: 5, 3: 6, 4: 3, 5: 8}
    sets = OpenSets(0b111111, 0, (by_node(18, weights),))
    rows = {i: {j: 10 if i == j else 12 + (i * j) % 3 for j in range(6)} for i in range(6)}
    problem = SharingOut(0b111111, [open_sets.rule_of(sets)], Budget(visits))
    found = nearest_set.best_remaining(problem, 3, None, Distances(rows))

    assert is_exact is found.exact
    assert found.mask.bit_count() == 3
    assert sets.offers(found.mask)


def test_what_a_mandatory_node_touches_is_counted_once() -> None:
    shared = Requirement(2, ((0b011, 1), (0b100, 1)))

    assert LowestSet(OpenSets(0b111, 0b001, (shared,))).lowest(2) == 0b101


def test_what_all_nodes_together_do_not_meet_has_no_fewest_nodes() -> None:
    needs = by_node(9, {0: 2, 1: 1, 2: 3})

    assert LowestSet(OpenSets(0b111, 0, (needs,))).fewest() is None
    assert LowestSet(OpenSets(0b111, 0b100, (needs,))).smallest() is None


def test_what_failed_with_much_lacking_is_tried_again_with_less() -> None:
    first = by_node(9, {0: 2, 1: 1, 2: 3, 3: 4, 4: 5})
    second = by_node(8, {0: 2, 1: 4, 2: 2, 3: 3, 4: 3})

    assert LowestSet(OpenSets(0b11111, 0, (first, second))).lowest(3) == 0b10110


def test_a_group_that_gives_nothing_better_changes_nothing() -> None:
    """Whatever is chosen from the explicit list, node 6 is what can not be missed."""
    cpus = HintRule(0x7F, OpenSets(0x7F, 0, (by_node(10, {6: 10}),)), preferred_size=2)
    hints = (Hint(0b1000001, False), Hint(0b1000010, False), Hint(1 << 70, False))
    listed = filtering.lists_of([{"r": Candidates(hints)}])

    assert BestHint(Hint(0b1000000, False)) == rule_merging.merge([*ruled(cpus), *listed], 0x7F)


def test_two_nodes_of_one_device_are_close_and_not_enough() -> None:
    devices = Requirement(2, ((0b101, 1), (0b010, 1)))
    rows = {i: {j: 10 if {i, j} <= {0, 2} else 20 for j in range(3)} for i in range(3)}
    sets = LowestSet(OpenSets(0b111, 0, (devices,)))

    assert nearest_set.best(sets, 2, Distances(rows)) == 0b011


def test_a_part_of_a_budget_is_used_up_and_the_rest_stays() -> None:
    budget = Budget(10)
    with budget.at_most(3):
        for _ in range(3):
            budget.spend()
        with pytest.raises(BudgetUsedUp):
            budget.spend()
    assert budget.left == 7
    with budget.at_most(100):
        budget.spend()
    assert budget.left == 6


def test_a_requirement_that_mandatory_nodes_meet_leaves_the_set_free() -> None:
    sets = OpenSets(0b111, 0b001, (by_node(4, {0: 4, 2: 4}),))

    assert LowestSet(sets).lowest(2) == 0b011


@pytest.mark.parametrize("visits", [4, 8])
def test_a_stopped_search_among_devices_of_two_nodes_keeps_the_set_that_it_has(
    visits: int,
) -> None:
    weights = {0: 4, 1: 7, 2: 5, 3: 6, 4: 3, 5: 8}
    parts = tuple((1 << at, weight) for at, weight in weights.items())
    sets = OpenSets(0b111111, 0, (Requirement(18, (*parts, (0b110000, 1))),))
    rows = {i: {j: 10 if i == j else 12 + (i * j) % 3 for j in range(6)} for i in range(6)}
    problem = SharingOut(0b111111, [open_sets.rule_of(sets)], Budget(visits))
    assert not problem.is_a_sum
    found = nearest_set.best_remaining(problem, 3, None, Distances(rows))

    assert not found.exact
    assert sets.offers(found.mask)
