"""Which sets of nodes the Memory Manager offers, and why others are not."""

from __future__ import annotations

import itertools

from numalet.core.hints.provider import Candidates, Hint
from numalet.core.managers.memory import hints, static_policy, tables
from numalet.core.managers.memory.hints import MemoryHintFamily
from numalet.core.managers.memory.ledger import (
    MemoryBlock,
    MemoryLedger,
    NodeMemory,
    ReusableMemory,
)
from numalet.core.managers.memory.reasons import (
    NodeInGroup,
    NodeInUse,
    TooLittleAllocatable,
    TooLittleFree,
    UnknownMemoryType,
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


def offered(of: MemoryLedger, gib: int, pod_uid: str = "u") -> MemoryHintFamily:
    return hints.family(of, pod_uid, {"memory": gib * GI})


def test_on_an_empty_machine_every_set_is_offered_and_the_smallest_are_preferred() -> None:
    assert [(h.mask, h.preferred) for h in offered(ledger(10, 10), 4).hints()] == [
        (0b01, True),
        (0b10, True),
        (0b11, False),
    ]


def test_what_is_preferred_does_not_depend_on_what_is_free() -> None:
    family = offered(ledger(3, 3), 6)

    assert (family.masks, family.preferred_size) == ((0b11,), 1)


def test_a_node_of_a_group_is_not_offered_alone() -> None:
    assert offered(ledger(10, 10, groups={0: 0b11, 1: 0b11}), 4).masks == (0b11,)


def test_a_node_in_use_does_not_join_a_group() -> None:
    assert offered(ledger(8, 10, 10, groups={0: 0b001}), 12).masks == (0b110,)


def test_a_group_is_not_reused_by_another_group() -> None:
    in_use = ledger(10, 10, 10, 10, groups={1: 0b0110, 2: 0b0110})

    assert offered(in_use, 12).masks == (0b1001, 0b0110)


def test_a_broken_group_is_not_offered() -> None:
    assert offered(ledger(10, 10, groups={0: 0b11, 1: 0b10}), 12).masks == ()


def test_memory_to_be_used_again_counts_only_on_exactly_its_set() -> None:
    full = ledger(2, 2)
    reusable = ReusableMemory("u", {(0b01, "memory"): 5 * GI})
    again = MemoryLedger(full.nodes, {}, reusable)

    assert offered(again, 6).masks == (0b01,)
    assert offered(again, 6, pod_uid="other").masks == ()


def test_a_type_that_a_node_lacks_is_noticed() -> None:
    nodes = ledger(10).nodes

    assert hints.missing_type(nodes, {"memory": 1}) is None
    assert hints.missing_type(nodes, {"hugepages-1Gi": 0}) == UnknownMemoryType("hugepages-1Gi", 0)


def test_every_refused_set_has_its_reason() -> None:
    in_group = offered(ledger(10, 10, 8, groups={0: 0b011, 1: 0b011, 2: 0b100}), 9)

    assert in_group.masks == (0b011,)
    assert in_group.why_not(0b011) is None
    assert in_group.why_not(0b001) == NodeInGroup(0, 0b011)
    assert in_group.why_not(0b101) == NodeInUse(0b101, 0, 0b011)
    assert in_group.why_not(0b100) == TooLittleFree(0b100, "memory", 9 * GI, 8 * GI)
    too_much = offered(ledger(10), 11)
    assert too_much.why_not(0b1) == TooLittleAllocatable(0b1, "memory", 11 * GI, 10 * GI)


def test_the_reasons_and_the_offer_agree() -> None:
    state = ledger(10, 5, 7, 2, groups={1: 0b0110, 2: 0b0110, 3: 0b1000})
    for gib in range(22):
        family = offered(state, gib)
        for mask in numa_mask.by_size(state.nodes):
            assert (family.why_not(mask) is None) == (mask in family.masks), (gib, mask)


def test_blocks_are_offered_again_where_they_are() -> None:
    blocks = (MemoryBlock((0, 1), "memory", 4 * GI),)

    assert hints.regenerated(blocks, {"memory": 4 * GI}) == {
        "memory": Candidates((Hint(0b11, True),))
    }
    assert hints.regenerated(blocks, {"memory": 5 * GI}) == {}
    assert hints.regenerated(blocks, {"memory": 4 * GI, "hugepages-1Gi": 0}) == {}
    assert hints.regenerated(blocks, {"hugepages-1Gi": 4 * GI}) == {}


def test_no_set_is_offered_to_a_demand_that_all_nodes_together_cannot_hold() -> None:
    both = {"memory": 6 * GI, "hugepages-1Gi": GI}
    shortages = 0
    for free in itertools.product(range(0, 11, 2), repeat=3):
        for of in (ledger(*free), ledger(*free, groups={0: 0b101, 2: 0b101})):
            for gib in range(1, 31, 3):
                demand = {"memory": gib * GI}
                is_short = hints.is_short(of, "u", demand)
                shortages += is_short
                assert is_short == (sum(free) < gib)
                offered_sets = hints.family(of, "u", demand).masks
                # The same sets one by one, as the kubelet tests them.
                assert not (is_short and offered_sets)
                assert not is_short or all(
                    hints.why_not(of, "u", demand, mask) for mask in range(1, 8)
                )
    assert shortages > 100
    of = MemoryLedger(tables.initial_nodes(builders.machine(10, hugepages={1 << 20: 1}), {}), {})
    assert not hints.is_short(of, "u", both)
    assert hints.is_short(of, "u", {**both, "hugepages-1Gi": 2 * GI})


def test_a_pod_that_may_reuse_memory_is_not_called_short() -> None:
    full = ledger(0, 0)
    again = MemoryLedger(full.nodes, {}, ReusableMemory("u", {(0b11, "memory"): 5 * GI}))

    assert not hints.is_short(again, "u", {"memory": 5 * GI})
    assert offered(again, 5).masks == (0b11,)
    assert hints.is_short(again, "another", {"memory": 5 * GI})


def test_many_nodes_offer_no_set_to_no_demand_and_to_too_large_a_one() -> None:
    many = ledger(*[10] * 6)

    assert hints.family(many, "u", {}).is_empty
    assert hints.family(many, "u", {}).masks == ()
    assert static_policy.best(offered(many, 61)) is None
    assert static_policy.best(offered(many, 60)) == Hint(0b111111, True)


def test_the_best_of_many_nodes_whose_sums_wrap_around_is_found_one_by_one() -> None:
    huge = MemoryLedger(tables.initial_nodes(builders.machine(*[1 << 32] * 6), {}), {})

    assert offered(huge, 1).as_rule is None
    assert static_policy.best(offered(huge, 1)) == Hint(0b1, True)
