"""The Memory Manager's sets by rule: what wraps around, broken groups, the best set."""

from __future__ import annotations

import pytest

from numalet.core.hints.provider import Hint
from numalet.core.managers.memory import hints, static_policy, tables
from numalet.core.managers.memory.hints import MemoryHintFamily
from numalet.core.managers.memory.ledger import (
    MemoryLedger,
    MemoryTable,
    NodeMemory,
    ReusableMemory,
)
from numalet.core.model import numa_mask
from values import builders
from values.builders import GI


def ledger(*free_gib: int, groups: dict[int, int] | None = None) -> MemoryLedger:
    """10Gi nodes with this much free; ``groups`` are masks of the nodes that are in use."""
    nodes = dict(tables.initial_nodes(builders.machine(*[10] * len(free_gib)), {}))
    for node_id, free in enumerate(free_gib):
        tables.allocate(nodes, (node_id,), "memory", (10 - free) * GI)
    for node_id, group in (groups or {}).items():
        nodes[node_id] = NodeMemory(1, nodes[node_id].tables, group)
    return MemoryLedger(nodes, {})


def offered(of: MemoryLedger, gib: int) -> MemoryHintFamily:
    return hints.family(of, "u", {"memory": gib * GI})


def reserved_beyond(sizes_gib: tuple[int, ...], reserved_gib: int) -> MemoryLedger:
    """Node 0 has more reserved than it has."""
    reserved = {0: {"memory": reserved_gib * GI}}
    return MemoryLedger(tables.initial_nodes(builders.machine(*sizes_gib), reserved), {})


def test_what_wraps_around_is_listed_and_not_known_by_rule() -> None:
    family = offered(reserved_beyond((1, 10, 10), reserved_gib=8), 12)

    assert family.as_rule is None
    # Node 0 seems to have nearly 2^64 bytes; with another node it has 3Gi, with both 13Gi.
    assert family.masks == (0b001, 0b110, 0b111)
    assert family.preferred_size == 1
    assert Hint(0b001, True) == static_policy.best(family)
    assert Hint(0b110, False) == static_policy.best(family, containing=0b010)


def test_what_wraps_around_on_more_nodes_is_listed_too() -> None:
    family = offered(reserved_beyond((1, 10, 10, 10, 10), reserved_gib=8), 12)

    assert family.rule is None
    every_set = [*numa_mask.by_size(range(5))]
    assert family.masks == tuple(mask for mask in every_set if family.why_not(mask) is None)
    assert (family.masks[0], family.preferred_size) == (0b00001, 1)
    too_much = offered(reserved_beyond((1, 10, 10, 10, 10), reserved_gib=2), 1 << 40)
    assert (too_much.is_empty, too_much.preferred_size) == (True, 5)


def test_all_nodes_are_preferred_if_not_even_what_wraps_around_is_enough() -> None:
    family = offered(reserved_beyond((1, 10, 10), reserved_gib=2), 1 << 40)

    assert family.as_rule is None
    assert (family.is_empty, family.preferred_size) == (True, 3)


def test_more_free_than_allocatable_is_no_rule_either() -> None:
    state = ledger(10, 10, 10)
    node = NodeMemory(0, {"memory": MemoryTable(10, 0, 8, 0, 9)}, 0b100)

    assert offered(state, 4).as_rule is not None
    assert offered(MemoryLedger({**state.nodes, 2: node}, {}), 4).as_rule is None


@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
def test_the_sets_of_up_to_four_nodes_are_listed(nodes: int) -> None:
    family = offered(ledger(*[10, 3, 2, 1][:nodes]), 4)

    assert family.rule is None
    every_set = [*numa_mask.by_size(range(nodes))]
    assert family.masks == tuple(mask for mask in every_set if family.why_not(mask) is None)
    assert (family.preferred_size, family.is_empty) == (1, False)
    assert offered(ledger(*[3, 0, 0, 0][:nodes]), 4).is_empty


def test_five_nodes_are_known_by_rule() -> None:
    family = offered(ledger(10, 3, 2, 1, 1), 4)

    assert family.rule is family.as_rule is not None


def test_an_unused_node_in_a_group_is_never_offered_alone() -> None:
    state = ledger(10, 10, 10)
    broken = NodeMemory(0, state.nodes[2].tables, 0b101)
    family = offered(MemoryLedger({**state.nodes, 2: broken}, {}), 4)

    assert family.as_rule is not None
    by_rule = tuple(mask for mask in numa_mask.by_size(range(3)) if family.as_rule.offers(mask))
    assert (0b001, 0b010, 0b011, 0b101, 0b110, 0b111) == family.masks == by_rule


def test_memory_to_be_used_again_makes_an_island_of_unused_nodes() -> None:
    state = ledger(2, 2, 2)
    again = MemoryLedger(state.nodes, {}, ReusableMemory("u", {(0b011, "memory"): 5 * GI}))
    family = offered(again, 8)

    assert family.as_rule is not None
    assert (family.masks, family.as_rule.islands) == ((0b011,), (0b011,))
    assert Hint(0b011, False) == static_policy.best(family)
    other = hints.family(again, "other", {"memory": 8 * GI})
    assert (other.is_empty, static_policy.best(other)) == (True, None)


def test_a_demand_for_nothing_is_offered_nowhere() -> None:
    family = hints.family(ledger(10, 10), "u", {})

    assert (family.masks, family.is_empty) == ((), True)


@pytest.mark.parametrize(
    ("containing", "expected"),
    [
        (0b0000, Hint(0b0011, True)),
        (0b0100, Hint(0b0101, True)),
        (0b1000, Hint(0b11000, True)),
        (0b1001, None),
    ],
)
def test_the_best_set_holds_the_given_nodes(containing: int, expected: Hint | None) -> None:
    state = ledger(10, 10, 10, 10, 10, groups={3: 0b11000, 4: 0b11000})

    assert expected == static_policy.best(offered(state, 14), containing)


def test_the_best_of_sixty_four_nodes_is_found() -> None:
    family = offered(ledger(*[1, 2] * 32), 40)
    odd = numa_mask.of(range(1, 41, 2))

    assert Hint(odd, False) == static_policy.best(family)
