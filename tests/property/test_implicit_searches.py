"""Each search by rule finds what trying every set finds."""

from __future__ import annotations

from dataclasses import dataclass
from unittest import mock

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from numalet.core.hints import nearest_set, nearest_terms, remaining_set
from numalet.core.hints.fitness import Distances
from numalet.core.hints.lowest_set import LowestSet
from numalet.core.hints.multi_knapsack import Budget, BudgetUsedUp, SharingOut
from numalet.core.hints.requirement import OpenSets, Requirement
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from oracles import open_sets

pytestmark = pytest.mark.property

NODES = 6
ALL = 2**NODES - 1
NO_LIMIT = 1 << 60


@given(open_sets.open_sets(NODES), st.none() | open_sets.spans(NODES), st.integers(0, NODES))
def test_the_lowest_set_is_the_smallest_integer_that_meets_everything(
    sets: OpenSets, span: Requirement | None, size: int
) -> None:
    further = [] if span is None else [span]
    fitting = [
        mask
        for mask in open_sets.subsets(sets.universe, size)
        if numa_mask.contains(mask, sets.mandatory)
        and all(each.is_met_by(mask) for each in [*sets.requirements, *further])
    ]
    search = LowestSet(sets, further)

    assert min(fitting, default=None) == search.lowest(size)
    assert all(search.is_met_by(mask) for mask in fitting)


@given(open_sets.open_sets(NODES))
def test_the_smallest_set_has_the_fewest_nodes(sets: OpenSets) -> None:
    offered = [mask for mask in range(1, ALL + 1) if sets.offers(mask)]
    smallest = min(offered, key=lambda mask: (mask.bit_count(), mask), default=None)
    search = LowestSet(sets)

    assert smallest == search.smallest()
    assert (None if smallest is None else smallest.bit_count()) == search.fewest()
    assert sets.is_empty() == (not offered)


@given(open_sets.open_sets(NODES), open_sets.distances(NODES), st.integers(1, NODES))
def test_the_closest_set_is_the_lowest_of_the_closest(
    sets: OpenSets, distances: Distances, size: int
) -> None:
    fitting = [mask for mask in open_sets.subsets(ALL, size) if sets.offers(mask)]
    closest = min(fitting, key=lambda mask: (distances.total(mask), mask), default=None)

    assert closest == nearest_set.best(LowestSet(sets), size, distances)


@dataclass(frozen=True)
class Sharing:
    """A ground set and families that offer something."""

    ground: NumaMask
    families: tuple[OpenSets, ...]

    def problem(self, budget: int = NO_LIMIT) -> SharingOut:
        rules = {id(sets): open_sets.rule_of(sets) for sets in self.families}
        return SharingOut(self.ground, [rules[id(sets)] for sets in self.families], Budget(budget))

    def can_be_shared(self, out: NumaMask) -> bool:
        return open_sets.can_be_shared(out, self.families)

    def remaining(self, size: int) -> list[NumaMask]:
        """All sets of this size that can come out."""
        masks = open_sets.subsets(self.ground, size)
        return [mask for mask in masks if self.can_be_shared(self.ground & ~mask)]


@st.composite
def sharings(draw: st.DrawFn) -> Sharing:
    """One to three families, two of which may be copies of each other."""
    families = draw(st.lists(open_sets.open_sets(NODES), min_size=1, max_size=2))
    families = [sets for sets in families if not sets.is_empty()]
    assume(families)
    if draw(st.booleans()):
        families.append(families[0])
    ground = draw(st.integers(1, ALL)) | draw(st.integers(1, ALL))
    for sets in families:
        ground &= sets.universe
    assume(ground)
    return Sharing(ground, tuple(families))


@given(sharings(), st.integers(0, ALL), st.integers(0, ALL), st.integers(0, NODES))
def test_nodes_are_shared_out_if_they_can_be(
    sharing: Sharing, first: int, second: int, leave: int
) -> None:
    must, may = first & sharing.ground, second & ~first & sharing.ground
    assume(leave <= may.bit_count() and must | may != sharing.ground)
    possible = any(sharing.can_be_shared(must | out) for out in open_sets.subsets(may, leave))
    problem = sharing.problem()
    found = problem.share(must, may, leave)

    assert possible == (found is not None)
    assert not (possible and problem.is_too_much(must, may, leave))
    if found is not None:
        assert (must, leave) == (found & ~may, (found & may).bit_count())
        assert sharing.can_be_shared(found)


@given(sharings(), st.integers(0, ALL))
def test_what_is_shared_greedily_can_be_shared(sharing: Sharing, out: int) -> None:
    out &= sharing.ground
    assume(out != sharing.ground)

    problem, can_be_shared = sharing.problem(), sharing.can_be_shared(out)

    assert not problem.can_be_shared_greedily(out) or can_be_shared
    if problem.is_a_sum:
        assert can_be_shared == problem.can_be_shared_greedily(out)


@given(open_sets.distances(NODES), st.integers(1, ALL), st.sets(st.integers(1, ALL)))
def test_no_exchange_is_left_that_brings_a_set_closer(
    distances: Distances, start: NumaMask, possible: set[NumaMask]
) -> None:
    rows = distances.rows
    field = nearest_terms.DistanceTable(
        pairs=[[rows[i][j] + rows[j][i] for j in range(NODES)] for i in range(NODES)],
        alone=[rows[i][i] for i in range(NODES)],
    )
    possible.add(start)
    chosen = field.exchanged(
        frozenset(numa_mask.ids(start)), lambda places: numa_mask.of(places) in possible
    )
    found = numa_mask.of(chosen)
    one_exchange_away = [
        mask
        for mask in possible
        if mask.bit_count() == start.bit_count() and (mask ^ found).bit_count() in (0, 2)
    ]

    assert found in one_exchange_away
    assert distances.total(found) == min(map(distances.total, one_exchange_away))


@given(
    sharings(),
    st.integers(1, NODES),
    st.booleans(),
    st.none() | open_sets.distances(NODES),
    st.sampled_from((0, 1, 3, 10, 5000)),
)
def test_the_best_set_that_can_come_out_is_found(
    sharing: Sharing, size: int, is_known: bool, distances: Distances | None, easy: int
) -> None:
    """Also where a search takes so long that it begins once more."""
    sizes = range(min(size, sharing.ground.bit_count()), NODES + 1)
    remaining = next(found for found in map(sharing.remaining, sizes) if found)
    known = max(remaining) if is_known and remaining[0].bit_count() == size else None
    problem = sharing.problem()
    if distances is None:
        found = remaining_set.best(problem, size, known)
        expected = min(remaining)
    else:
        with mock.patch.object(nearest_set, "_EASY", easy):
            found = nearest_set.best_remaining(problem, size, known, distances)
        expected = min(remaining, key=lambda mask: (distances.total(mask), mask))

    assert remaining_set.Remaining(expected, True) == found


@given(sharings(), st.integers(1, NODES), st.integers(0, 8), st.none() | open_sets.distances(NODES))
def test_a_search_that_is_stopped_gives_what_can_come_out(
    sharing: Sharing, size: int, budget: int, distances: Distances | None
) -> None:
    problem = sharing.problem(budget)
    if distances is None:
        found = remaining_set.best(problem, size, None)
    else:
        found = nearest_set.best_remaining(problem, size, None, distances)

    assert sharing.can_be_shared(sharing.ground & ~found.mask)
    if found.exact and distances is None:
        assert remaining_set.best(sharing.problem(), size, None) == found


def test_a_search_without_budget_is_stopped() -> None:
    sets = OpenSets(0b11, 0, (Requirement(1, ((0b01, 1), (0b10, 1))),))
    with pytest.raises(BudgetUsedUp):
        SharingOut(0b11, [open_sets.rule_of(sets)], Budget(0)).share(0b01, 0, 0)
