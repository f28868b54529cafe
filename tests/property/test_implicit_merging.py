"""The merge by rule gives what the merge of the written-out lists gives, ties included."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints import filtering, merging, policies, rule_merging
from numalet.core.hints.filtering import Ruled
from numalet.core.hints.provider import Hint
from numalet.core.model import numa_mask
from oracles import implicit_problems, merge_by_walking
from oracles.implicit_problems import Answers, Problem

pytestmark = pytest.mark.property

POLICIES = [policy for policy in TopologyPolicy if policy is not TopologyPolicy.NONE]
MOST_PERMUTATIONS = 5_000
NO_LIMIT = 1 << 60


def by_lists(problem: Problem) -> Hint:
    """The merge of the lists: the kubelet's walk if it ends, else the closed form."""
    lists = filtering.written_out(problem.offers)
    merge = merging.merge
    if math.prod(map(len, lists)) <= MOST_PERMUTATIONS:
        merge = merge_by_walking.merge
    return merge(lists, problem.all_nodes, problem.distances)


@given(implicit_problems.problems(most_nodes=6))
def test_the_merge_by_rule_equals_the_merge_of_lists(problem: Problem) -> None:
    found = rule_merging.merge(problem.offers, problem.all_nodes, problem.distances, NO_LIMIT)

    assert (by_lists(problem), False) == (found.hint, found.bounded)


@given(implicit_problems.problems(most_nodes=6))
def test_single_hints_are_the_same_by_rule_and_by_lists(problem: Problem) -> None:
    lists = filtering.written_out(problem.offers)

    assert filtering.single_node_only(lists) == filtering.single_node_only(problem.offers)


@given(implicit_problems.problems(most_nodes=5))
def test_a_rule_offers_and_prefers_what_the_family_lists(problem: Problem) -> None:
    for offer in problem.offers:
        if isinstance(offer, Ruled):
            hints = offer.family.hints()
            listed = {hint.mask: hint.preferred for hint in hints}
            for mask in numa_mask.by_size(range(problem.nodes)):
                offered = offer.rule.offers(mask)
                assert offered == (offer.family.why_not(mask) is None)
                assert (listed.get(mask) if mask in listed else None) == (
                    offer.rule.prefers(mask) if offered else None
                )
            assert offer.rule.smallest_size == min(mask.bit_count() for mask in listed if mask)


@given(implicit_problems.answers(most_nodes=4), st.sampled_from(POLICIES))
def test_sets_that_all_prefer_are_found_without_lists(
    asked: Answers, policy: TopologyPolicy
) -> None:
    on = (asked.all_nodes, asked.distances)
    lists = filtering.written_out(filtering.lists_of(asked.answers))

    assert policies.of_answers(policy, asked.answers, *on) == policies.decide(policy, lists, *on)


@settings(max_examples=max(10, settings().max_examples // 10))
@given(implicit_problems.problems(fewest_nodes=7, most_nodes=12))
def test_the_merge_by_rule_equals_the_closed_form_on_more_nodes(problem: Problem) -> None:
    found = rule_merging.merge(problem.offers, problem.all_nodes, problem.distances)
    lists = filtering.written_out(problem.offers)

    assert merging.merge(lists, problem.all_nodes, problem.distances) == found.hint
    assert not found.bounded
