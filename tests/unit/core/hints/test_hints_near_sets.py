"""Close sets to begin with: grown from every node, and bettered by exchanges."""

from __future__ import annotations

from numalet.core.hints.nearest_terms import WORTH_MOST, DistanceTable

BOARDS = DistanceTable(
    pairs=[[20 if i // 2 == j // 2 else 60 for j in range(6)] for i in range(6)], alone=[10] * 6
)
"""Six nodes, two on each of three boards."""


def test_a_set_grows_over_its_own_board_first_and_then_over_the_lowest_places() -> None:
    grown = list(BOARDS.grown(3, range(6)))

    assert [{0, 1, 2}, {0, 1, 2}, {0, 2, 3}, {0, 2, 3}, {0, 4, 5}, {0, 4, 5}] == grown


def test_a_distance_to_itself_counts_when_a_set_grows() -> None:
    far_to_itself = DistanceTable(pairs=BOARDS.pairs, alone=[10, 100, 10, 10, 10, 10])

    assert {0, 2} == next(far_to_itself.grown(2, [0]))


def test_what_is_worth_a_detour_is_taken_when_detours_become_long() -> None:
    worth = [0, 0, 0, 0, 0, WORTH_MOST]
    dear = list(BOARDS.dear(2, [0], worth))

    assert dear[0] == {0, 1}
    assert dear[-1] == {0, 5}


def test_nodes_are_exchanged_until_the_set_can_not_be_closer() -> None:
    assert {2, 3} == BOARDS.exchanged(frozenset({1, 3}), lambda places: 1 not in places)


def test_the_set_stays_where_no_closer_one_can_be_had() -> None:
    assert {1, 3} == BOARDS.exchanged(frozenset({1, 3}), lambda _: False)


def test_trying_ends() -> None:
    """Forty boards with two nodes each, one node of every board chosen."""
    boards = range(40)
    field = DistanceTable(
        pairs=[[20 if i // 2 == j // 2 else 60 for j in range(80)] for i in range(80)],
        alone=[10] * 80,
    )
    asked: list[frozenset[int]] = []

    def never(places: frozenset[int]) -> bool:
        asked.append(places)
        return False

    field.exchanged(frozenset(2 * board for board in boards), never)

    assert len(asked) == 200
