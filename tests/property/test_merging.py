"""Laws of the merge: it equals the walk over all combinations, whatever the order of things."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from numalet.core.hints import merging, walking
from numalet.core.hints.fitness import FAR, Distances
from numalet.core.hints.merging import merge
from numalet.core.hints.provider import Hint
from numalet.core.hints.walking import NoDistance
from numalet.core.model import numa_mask
from oracles import merge_by_walking

pytestmark = pytest.mark.property


@st.composite
def problems(
    draw: st.DrawFn, highest_nodes: int = 5, most_lists: int = 4
) -> tuple[list[tuple[Hint, ...]], int, Distances | None]:
    """Lists of hints, the machine's nodes, distances or none."""
    nodes = draw(st.integers(1, highest_nodes))
    # Every sixth mask may hold a node that the machine does not have.
    mask = st.one_of(*[st.integers(0, 2**nodes - 1)] * 5, st.integers(0, 2 ** (nodes + 1) - 1))
    hint = st.builds(Hint, st.one_of(st.none(), mask, mask, mask), st.booleans())
    lists = draw(st.lists(st.lists(hint, max_size=6).map(tuple), max_size=most_lists))
    distances = None
    if draw(st.booleans()):
        rows = draw(
            st.lists(
                st.lists(st.integers(10, 30), min_size=nodes + 1, max_size=nodes + 1),
                min_size=nodes + 1,
                max_size=nodes + 1,
            )
        )
        distances = Distances({i: dict(enumerate(row)) for i, row in enumerate(rows)})
    return lists, 2**nodes - 1, distances


@given(problems())
def test_the_closed_form_equals_the_walk(
    problem: tuple[list[tuple[Hint, ...]], int, Distances | None],
) -> None:
    lists, all_nodes, distances = problem
    assume(math.prod(map(len, lists)) <= 5_000)

    assert merge(lists, all_nodes, distances) == merge_by_walking.merge(lists, all_nodes, distances)


@st.composite
def problems_with_gaps(
    draw: st.DrawFn,
) -> tuple[list[tuple[Hint, ...]], int, Distances, Distances]:
    """Lists of hints for nodes with gaps between their ids; distances as written and as read."""
    ids = sorted(draw(st.sets(st.integers(0, 7), min_size=1, max_size=4)))
    rows = {i: [draw(st.integers(10, 30)) for _ in ids] for i in ids}
    mask = st.sets(st.sampled_from(ids)).map(numa_mask.of)
    hint = st.builds(Hint, st.one_of(st.none(), mask, mask, mask), st.booleans())
    lists = draw(st.lists(st.lists(hint, max_size=6).map(tuple), max_size=4))
    written = Distances(
        {i: {j: d for j, d in enumerate(row) if j in ids} for i, row in rows.items()}
    )
    lengths = {i: len(row) for i, row in rows.items()}
    filled = {i: {j: written.rows[i].get(j, FAR) for j in ids} for i in ids}
    return lists, numa_mask.of(ids), written, Distances(filled, lengths)


@given(problems_with_gaps())
def test_the_walk_panics_where_the_kubelet_does(
    problem: tuple[list[tuple[Hint, ...]], int, Distances, Distances],
) -> None:
    lists, all_nodes, written, as_read = problem
    assume(math.prod(map(len, lists)) <= 5_000)

    found = walking.merge(lists, all_nodes, as_read)

    try:
        expected = merge_by_walking.merge(lists, all_nodes, written)
    except KeyError:
        assert isinstance(found, NoDistance)
    else:
        assert found == expected


@given(problems(most_lists=3), st.randoms(use_true_random=False))
def test_neither_the_order_of_lists_nor_of_hints_matters(
    problem: tuple[list[tuple[Hint, ...]], int, Distances | None], random: Random
) -> None:
    lists, all_nodes, distances = problem
    shuffled = [list(hints) for hints in lists]
    for hints in shuffled:
        random.shuffle(hints)
    random.shuffle(shuffled)

    assert merge(shuffled, all_nodes, distances) == merge(lists, all_nodes, distances)


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            st.just(2**n - 1), st.lists(st.sets(st.integers(0, 2**n - 1), min_size=1), max_size=4)
        )
    )
)
def test_counting_reaches_what_intersecting_each_with_each_reaches(
    problem: tuple[int, list[set[int]]],
) -> None:
    all_nodes, families = problem
    reach = {all_nodes}
    for family in families:
        reach = {a & b for a in reach for b in family}

    assert merging.by_counting(families, all_nodes) == reach
    assert merging.reachable(families, all_nodes) == reach
