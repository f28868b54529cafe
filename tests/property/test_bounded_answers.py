"""A search that is stopped still answers with a set that the kubelet's rules allow."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.admission.decision import Recorder
from numalet.core.hints import filtering, rule_merging
from numalet.core.hints.filtering import Offer
from numalet.core.hints.fitness import Distances
from numalet.core.hints.provider import ProviderHints
from numalet.core.model.pod import Pod
from numalet.core.snapshot.snapshot import Snapshot
from oracles import certificates, implicit_problems
from oracles.implicit_problems import Problem
from values import node_states

pytestmark = pytest.mark.property


def every_intersection(problem: Problem) -> set[int]:
    """What can come out, by intersecting everything with everything."""
    lists = filtering.written_out(problem.offers)
    families = [
        {problem.all_nodes if hint.mask is None else hint.mask & problem.all_nodes for hint in each}
        for each in lists
    ]
    return reduce(lambda some, more: {a & b for a in some for b in more}, families) - {0}


@given(implicit_problems.problems(most_nodes=6), st.integers(0, 12))
def test_a_stopped_merge_gives_what_can_come_out(problem: Problem, budget: int) -> None:
    # On so few nodes a stopped search is done again with lists; here it must not be.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_merging, "MOST_NODES_LISTED", 0)
        found = rule_merging.merge(problem.offers, problem.all_nodes, problem.distances, budget)
    exact = rule_merging.merge(problem.offers, problem.all_nodes, problem.distances)

    assert not (found.bounded and found.hint.preferred)
    if found.bounded:
        assert found.hint.mask in every_intersection(problem)
        assert not exact.hint.preferred
    else:
        assert exact.hint == found.hint


class Offers(Recorder):
    """Keeps what every provider offered for each subject."""

    def __init__(self) -> None:
        self.offers: list[list[Offer]] = []

    def hints_were_asked(
        self, snapshot: Snapshot, pod: Pod, subject: str, hints: Mapping[str, ProviderHints]
    ) -> None:
        self.offers.append(filtering.lists_of(hints.values()))


@pytest.mark.slow
@pytest.mark.parametrize("node_count", [16, 36, 64])
def test_on_many_nodes_a_stopped_merge_gives_what_can_come_out(node_count: int) -> None:
    stopped = 0
    for number in range(8 if node_count < 64 else 4):
        rng = random.Random(f"stopped {node_count} {number}")
        life = node_states.any_life(node_count, rng, "best-effort")
        life = replace(life, closest=number % 2 == 0)
        node = node_states.fragmented(life, rng)
        for resources in [*range(1, node_states.MOST_RESOURCES + 1)] * 3:
            recorder = Offers()
            node.admit(node_states.pod("newcomer", life, rng, resources), recorder)
            for offers in recorder.offers:
                stopped += is_stopped_with_proof(offers, node_count, node.roster.distances, rng)

    assert stopped >= 8


def is_stopped_with_proof(
    offers: list[Offer],
    node_count: int,
    distances: Distances | None,
    rng: random.Random,
) -> bool:
    """Whether a tiny budget stops the merge; what it then gives is proved to be possible."""
    all_nodes = (1 << node_count) - 1
    found = rule_merging.merge(offers, all_nodes, distances, rng.choice((0, 3, 30)))
    if not found.bounded:
        return False
    assert found.hint.mask is not None
    assert not found.hint.preferred
    assert certificates.of(offers, found.hint.mask, rng) is not None
    return True
