"""Rules of the distributed assignment, and the kubelet's accidents in it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from numalet.core.managers.cpu import cpu_mask, take_distributed, take_packed, topology
from numalet.core.managers.cpu.reasons import AccountingError, TooFewCpus, WouldHang
from numalet.core.managers.cpu.take_distributed import (
    Balance,
    Combination,
    Division,
    copied,
    overwritten,
)
from values import cpu_builders
from values.cpu_builders import discovered, mask, text


def balance(count: int, *free: int, group_size: int = 1) -> Balance:
    return Balance(count, group_size, dict(enumerate(free)), copied)


def best(of: Balance, nodes: Sequence[int], below: int | None = None) -> Division:
    division = of.best(nodes, below)
    assert isinstance(division, Division)
    return division


def test_nothing_is_taken_for_nothing() -> None:
    assert take_distributed.take(discovered(2, 2, 2, 1), 0b1111, 0) == 0


def test_too_few_cpus_are_too_few() -> None:
    assert TooFewCpus(3, 2) == take_distributed.take(discovered(2, 2, 2, 1), mask("0,2"), 3)


def test_broken_groups_are_packed() -> None:
    of = discovered(2, 2, 2, 2)

    assert take_packed.take(of, of.cpus, 3) == take_distributed.take(of, of.cpus, 3, 2)


def test_what_no_nodes_can_share_is_packed() -> None:
    of = discovered(2, 2, 4, 1)
    free = mask("0-3,4")

    # Two nodes would have to give two each.
    assert take_packed.take(of, free, 5) == take_distributed.take(of, free, 5)
    assert text(take_distributed.take(of, free, 5)) == "0-4"


def test_as_few_nodes_as_possible_are_used() -> None:
    of = discovered(4, 4, 4, 1)

    assert text(take_distributed.take(of, of.cpus, 4)) == "0-3"
    assert text(take_distributed.take(of, of.cpus, 6)) == "0-2,4-6"


def test_a_score_is_the_deviation_in_thousandths_of_what_is_left() -> None:
    # Left are 0 and 2; 1 and 1; 4, 4 and 1 with deviation 1.414...; fifteen 0 and a 1, whose
    # mean 0.0625 is taken for 0.063, with deviation 0.24206...
    assert Division(1000, ()) == best(balance(2, 2, 2), [0])
    assert Division(0, ()) == best(balance(2, 2, 2), [0, 1])
    assert Division(1414, ()) == best(balance(3, 4, 4, 4), [2])
    assert Division(242, ()) == best(balance(15, *[1] * 16), range(15))


def test_the_remainder_comes_from_the_fullest_nodes() -> None:
    assert best(balance(5, 3, 6, 4), [0, 1]).remainder == (1,)


def test_more_nodes_give_the_remainder_where_it_makes_no_difference() -> None:
    assert best(balance(4, 4, 4, 4), [0, 1, 2]).remainder == (0, 1, 2)


def test_a_node_that_gives_several_groups_of_the_remainder_is_possible() -> None:
    division = best(balance(5, 2, 2, 8), [0, 1, 2])

    assert division.remainder == (2,)


@pytest.mark.parametrize(
    ("free", "nodes"),
    [
        ((1, 2), [0, 1]),  # too few in all
        ((9, 1), [0, 1]),  # too few for a share
    ],
)
def test_nodes_that_have_too_little_can_not_divide(free: tuple[int, ...], nodes: list[int]) -> None:
    assert balance(4, *free).best(nodes, None) is None


def test_broken_groups_can_not_be_divided() -> None:
    assert balance(4, 3, 3, group_size=2).best([0], None) is None
    assert balance(6, 5, 3, 3, group_size=2).best([1, 2], None) is None


def test_a_combination_that_can_not_be_better_is_not_checked() -> None:
    of = balance(3, 4, 4, 9)
    score = best(of, [0, 1]).score

    assert of.best([0, 1], score) is None
    assert of.best([0, 1], score + 1) is not None


def test_a_node_that_is_listed_twice_may_leave_nobody_for_the_remainder() -> None:
    # It gives two shares, but only one is checked; the last two CPUs are single ones then.
    assert Balance(8, 2, {0: 5, 1: 3}, copied).best([0, 0, 1], None) is None


def test_going_round_broken_groups_would_never_end() -> None:
    # 4 nodes x 3 cores x 2 threads with one thread of each node in use: 5 free on each.
    of = discovered(4, 4, 3, 2)
    free = of.cpus & ~mask("0,3,6,9")

    assert WouldHang(0b0011, 2, 2) == take_distributed.take(of, free, 14, 2)


def test_one_reserved_thread_on_each_node_is_enough_for_that() -> None:
    of = discovered(4, 4, 4, 2)
    answer = take_distributed.take(of, of.cpus & ~mask("0,4,8,12"), 22, 2)

    assert isinstance(answer, WouldHang)


def test_broken_groups_that_are_enough_do_no_harm() -> None:
    of = discovered(2, 2, 3, 2)

    assert text(take_distributed.take(of, of.cpus & ~mask("0,6"), 10, 2)) == "1-5,7-11"


@pytest.mark.parametrize(
    ("winner", "expected"),
    [
        ((2,), (2,)),
        ((0, 2), (0, 2)),
        ((0, 1, 2), (0, 1, 2)),
        ((0, 1, 2, 3), (0, 1, 2, 9)),
        ((0, 1, 2, 3, 4), (0, 1, 2, 3, 4)),
        ((0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 9)),
        ((0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4, 8, 9)),
        ((0, 1, 2, 3, 4, 5, 6, 7), (0, 1, 2, 3, 4, 7, 8, 9)),
        ((0, 1, 2, 3, 4, 5, 6, 7, 8), (0, 1, 2, 3, 4, 5, 6, 7, 8)),
    ],
)
def test_the_end_of_a_winner_is_overwritten_by_the_last_combination(
    winner: Combination, expected: Combination
) -> None:
    assert expected == overwritten(winner, 10, None)
    assert winner == copied(winner, 10, None)


def test_a_walk_that_stops_overwrites_with_the_combination_at_which_it_stops() -> None:
    assert overwritten((0, 1, 2, 3), 6, (0, 1, 2, 4)) == (0, 1, 2, 4)
    assert overwritten((0, 1, 2, 5), 6, (0, 1, 3, 4)) == (0, 1, 2, 5)


def test_an_overwritten_winner_may_have_too_little_to_give() -> None:
    # Socket 0 has four nodes with 8 free CPUs, socket 1 has six with 7; so the order of nodes is
    # not that of free CPUs. Nodes 0 to 3 win, and node 3 is overwritten with node 9.
    of = topology.discover(
        cpu_builders.machine(
            *([(node // 4 and 1, (8 * node + at,), None) for at in range(8)] for node in range(10))
        )
    )
    free = of.cpus & ~cpu_mask.of(8 * node for node in range(4, 10))

    assert AccountingError(8) == take_distributed.take(of, free, 32)
    assert text(take_distributed.take(of, free, 32, storage=copied)) == "0-31"


def test_a_perfect_winner_is_overwritten_by_the_combination_after_it() -> None:
    # Nodes 0 to 3 of socket 0 have 5 free CPUs, twenty nodes of socket 1 have one each. When 0 to
    # 3 give 4 each, one is left everywhere; the next combination has node 4 in place of node 3.
    of = topology.discover(
        cpu_builders.machine(
            *([(int(node > 3), (8 * node + at,), None) for at in range(8)] for node in range(24))
        )
    )
    free = cpu_mask.of(8 * node + at for node in range(24) for at in range(5 if node < 4 else 1))

    assert AccountingError(4) == take_distributed.take(of, free, 16)
    assert text(take_distributed.take(of, free, 16, storage=copied)) == "0-3,8-11,16-19,24-27"


def test_an_overwritten_remainder_may_have_nothing_to_give() -> None:
    def first_item_only(winner: Combination, items: int, stop: Combination | None) -> Combination:
        return (0,) * len(winner)

    of = discovered(2, 2, 2, 1)

    assert WouldHang(0b01, 1, 1) == take_distributed.take(of, of.cpus, 3, storage=first_item_only)
