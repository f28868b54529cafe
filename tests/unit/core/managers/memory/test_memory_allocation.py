"""From an affinity to blocks: default and extended sets, groups, reuse, release."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.admission import counting
from numalet.core.config.behaviour import EXACT
from numalet.core.hints.provider import WHOLE_POD, ZERO_HINT, Hint, Refused
from numalet.core.managers.memory import demand, tables
from numalet.core.managers.memory.ledger import (
    UINT64,
    MemoryBlock,
    MemoryLedger,
    MemoryTable,
    NodeMemory,
    ReusableMemory,
)
from numalet.core.managers.memory.pod_pool import MemoryPodPools
from numalet.core.managers.memory.reasons import (
    CanNotExtend,
    CutsGroup,
    DefaultNotPreferred,
    ExtendedNotPreferred,
    NoNodeFits,
    NotAnInteger,
    UnknownMemoryType,
)
from numalet.core.managers.memory.static_policy import MemoryStaticPolicy
from numalet.core.model.pod import ContainerKey, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from values import builders, whole_pods
from values.builders import GI, container, init, pod, sidecar, simple


def manager(nodes: int) -> MemoryStaticPolicy:
    return MemoryStaticPolicy()


def empty(*memory_gib: int, **hugepages: int) -> MemoryLedger:
    pages = {int(size): count for size, count in hugepages.items()}
    return MemoryLedger(
        tables.initial_nodes(builders.machine(*memory_gib, hugepages=pages), {}), {}
    )


def allocated(
    ledger: MemoryLedger, of: Pod, affinity: Hint = ZERO_HINT, nodes: int = 2
) -> MemoryLedger:
    for one in of.containers():
        after = manager(nodes).allocate(ledger, of, one, affinity)
        assert not isinstance(after, Refused), after
        ledger = after
    return ledger


def refusal(ledger: MemoryLedger, of: Pod, affinity: Hint = ZERO_HINT, nodes: int = 2) -> object:
    after = manager(nodes).allocate(ledger, of, of.containers()[0], affinity)
    assert isinstance(after, Refused)
    return after.reason


def figures(ledger: MemoryLedger) -> list[tuple[int, int, int, int]]:
    """Per node: Gi reserved, Gi free, assignments, group."""
    return [
        (
            node.tables["memory"].reserved // GI,
            node.tables["memory"].free // GI,
            node.assignments,
            node.group,
        )
        for node in ledger.nodes.values()
    ]


def sizes(ledger: MemoryLedger, uid: str) -> dict[str, int]:
    return {
        name: sum(block.size_bytes for block in blocks) // GI
        for name, blocks in ledger.blocks.get(uid, {}).items()
    }


def test_the_node_map_begins_with_what_is_neither_reserved_nor_in_huge_pages() -> None:
    machine = builders.machine(16, hugepages={1048576: 4, 2048: 0})
    nodes = tables.initial_nodes(machine, {0: {"memory": GI, "hugepages-1Gi": GI}})

    assert nodes[0].tables == {
        "hugepages-1Gi": MemoryTable(4 * GI, GI, 3 * GI, 0, 3 * GI),
        "hugepages-2Mi": MemoryTable(0, 0, 0, 0, 0),
        "memory": MemoryTable(16 * GI, GI, 11 * GI, 0, 11 * GI),
    }


def test_reserving_more_than_a_node_has_wraps_around() -> None:
    nodes = tables.initial_nodes(builders.machine(1), {0: {"memory": 2 * GI}})

    assert nodes[0].tables["memory"].allocatable == UINT64 + 1 - GI


def test_any_node_becomes_the_lowest_that_fits() -> None:
    after = allocated(empty(10, 10), simple("u", "4Gi"))

    assert figures(after) == [(4, 6, 1, 0b01), (0, 10, 0, 0b10)]
    assert after.blocks == {"u": {"c": (MemoryBlock((0,), "memory", 4 * GI),)}}


def test_a_group_is_filled_from_its_lowest_node_and_every_node_counts() -> None:
    after = allocated(empty(10, 10, 10), simple("u", "15Gi"), Hint(0b110, True), nodes=3)

    assert figures(after) == [(0, 10, 0, 0b001), (10, 0, 1, 0b110), (5, 5, 1, 0b110)]


def test_every_requested_type_is_a_block_and_an_assignment() -> None:
    both = pod("u", container("c", "2Gi", hugepages_1Gi="3Gi"))
    after = allocated(empty(15, 15, **{"1048576": 4}), both, Hint(0b10, True))

    assert after.nodes[1].assignments == 2
    assert [block.resource for block in after.blocks["u"]["c"]] == ["hugepages-1Gi", "memory"]
    assert after.nodes[1].tables["hugepages-1Gi"].free == GI


def test_a_preferred_affinity_needs_a_preferred_default() -> None:
    half = allocated(empty(10, 10), simple("a", "7Gi"), Hint(0b01, True))
    half = allocated(half, simple("b", "7Gi"), Hint(0b10, True))

    assert refusal(half, simple("u", "5Gi")) == NoNodeFits("c")
    # Both nodes are in use alone, so no larger set is offered either.
    free = empty(10, 10)
    crowded = MemoryLedger(
        {
            node_id: NodeMemory(0, {"memory": MemoryTable(10 * GI, 0, 10 * GI, 7 * GI, 3 * GI)}, m)
            for node_id, m in ((0, 0b01), (1, 0b10))
        },
        free.blocks,
    )
    assert refusal(crowded, simple("u", "5Gi"), Hint(None, True)) == DefaultNotPreferred("c", 0b11)
    assert figures(allocated(crowded, simple("u", "5Gi"), ZERO_HINT))[0] == (10, 0, 1, 0b11)


def test_a_set_that_is_too_small_is_extended() -> None:
    after = allocated(empty(10, 10), simple("u", "15Gi"), Hint(0b01, False))

    assert figures(after) == [(10, 0, 1, 0b11), (5, 5, 1, 0b11)]


def test_nothing_to_extend_to_is_a_refusal() -> None:
    assert refusal(empty(10, 10), simple("u", "25Gi"), Hint(0b01, False)) == CanNotExtend("c", 1)


def test_a_preferred_affinity_needs_a_preferred_extension() -> None:
    small = allocated(empty(10, 20), simple("a", "1Gi"), Hint(0b01, True))
    freed = MemoryLedger(
        {**small.nodes, 0: NodeMemory(0, small.nodes[0].tables, 0b01)}, small.blocks
    )

    assert refusal(freed, simple("u", "15Gi"), Hint(0b01, True)) == ExtendedNotPreferred(
        "c", 0b01, 0b11
    )


def test_several_nodes_never_cut_through_what_is_in_use() -> None:
    used = allocated(empty(10, 10), simple("a", "4Gi"), Hint(0b01, True))

    assert refusal(used, simple("u", "4Gi"), Hint(0b11, True)) == CutsGroup("c", 0b11, 0, 0b01)


def test_one_node_is_taken_even_inside_a_group() -> None:
    grouped = allocated(empty(10, 10), simple("big", "12Gi"), Hint(0b11, True))
    after = allocated(grouped, simple("small", "2Gi"), Hint(0b10, False))

    assert [node.group for node in after.nodes.values()] == [0b11, 0b10]


def test_only_guaranteed_pods_get_memory() -> None:
    ledger = empty(10)
    burstable = pod("u", container("c", "1Gi"), qos=QosClass.BURSTABLE)
    one = burstable.app_containers[0]

    assert manager(1).allocate(ledger, burstable, one, ZERO_HINT) is ledger
    assert manager(1).container_hints(ledger, burstable, one) == {}
    assert manager(1).pod_hints(ledger, burstable) == {}


def test_part_of_a_byte_is_refused_and_hints_say_nothing() -> None:
    odd = pod("u", container("c", "100m"))

    assert refusal(empty(10), odd) == NotAnInteger("c", "memory", "100m")
    assert manager(1).container_hints(empty(10), odd, odd.app_containers[0]) == {}
    assert manager(1).pod_hints(empty(10), odd) == {}


def test_a_page_size_that_a_node_lacks_is_refused_where_the_kubelet_crashes() -> None:
    pages = pod("u", container("c", "1Gi", hugepages_2Mi="2Mi"))
    expected = Refused(UnknownMemoryType("hugepages-2Mi", 0))

    assert refusal(empty(10), pages) == expected.reason
    assert manager(1).container_hints(empty(10), pages, pages.app_containers[0]) == expected
    assert manager(1).pod_hints(empty(10), pages) == expected


def uneven_pages() -> MemoryLedger:
    """Two nodes of 10 Gi; only the first one has pages of 1 Gi, four of them."""
    both = builders.machine(10, 10)
    paged = builders.machine(10, hugepages={1 << 20: 4}).nodes[0]
    return MemoryLedger(tables.initial_nodes(replace(both, nodes=(paged, both.nodes[1])), {}), {})


def with_paged_init(size: str) -> Pod:
    """A pod whose init container alone asks for huge pages, so that its total has none."""
    first = container("i", "1Gi", ContainerKind.INIT, hugepages_1Gi=size)
    return pod("u", first, container("c", "1Gi"))


def test_pages_that_some_other_node_lacks_are_given_on_the_affinitys_nodes() -> None:
    after = allocated(uneven_pages(), with_paged_init("1Gi"), Hint(0b01, True))

    held = [block for block in after.blocks["u"]["i"] if block.resource == "hugepages-1Gi"]
    assert held == [MemoryBlock((0,), "hugepages-1Gi", GI)]


@pytest.mark.parametrize(
    ("size", "affinity", "missing_on"),
    [
        ("1Gi", Hint(0b10, True), 1),
        ("1Gi", Hint(0b11, False), 1),
        ("5Gi", Hint(0b01, True), 1),
        ("1Gi", ZERO_HINT, 1),
    ],
)
def test_where_the_kubelet_looks_beyond_the_affinitys_pages_it_crashes(
    size: str, affinity: Hint, missing_on: int
) -> None:
    expected = UnknownMemoryType("hugepages-1Gi", missing_on)
    assert refusal(uneven_pages(), with_paged_init(size), affinity) == expected


def test_a_group_is_not_cut_by_pages_that_some_node_lacks() -> None:
    three = builders.machine(10, 10, 10)
    paged = builders.machine(10, 10, hugepages={1 << 20: 4}).nodes
    nodes = tables.initial_nodes(replace(three, nodes=(*paged, three.nodes[2])), {})
    ledger = allocated(MemoryLedger(nodes, {}), simple("other", "1Gi"), Hint(0b01, True))

    refused = refusal(ledger, with_paged_init("1Gi"), Hint(0b11, False))

    assert refused == CutsGroup("i", 0b11, 0, 0b01)


def test_no_set_at_all_reads_as_no_preference() -> None:
    assert manager(1).pod_hints(empty(10), simple("u", "11Gi")) == {}


def test_hints_of_a_container_with_blocks_are_where_its_blocks_are() -> None:
    one = simple("u", "4Gi")
    after = allocated(empty(10, 10), one, Hint(0b10, True))

    for hints in (
        manager(2).pod_hints(after, one),
        manager(2).container_hints(after, one, one.app_containers[0]),
    ):
        assert not isinstance(hints, Refused)
        assert {name: list(family.hints()) for name, family in hints.items()} == {  # type: ignore[union-attr]
            "memory": [Hint(0b10, True)]
        }


def test_a_container_with_blocks_only_uses_up_what_may_be_reused() -> None:
    one = pod("u", init("i", "4Gi"), container("c", "3Gi"))
    after = allocated(empty(10), one, nodes=1)
    again = manager(1).allocate(after, one, one.app_containers[0], ZERO_HINT)

    assert isinstance(again, MemoryLedger)
    assert again.nodes == after.nodes
    assert again.reusable.sizes == {(1, "memory"): 0}


PODS = [
    (["i7", "i4", "5", "2"], [0, 0, 5, 2], 7),
    (["i1", "i2", "3", "4"], [0, 0, 3, 4], 7),
    (["i7", "i4", "4", "3"], [0, 0, 4, 3], 7),
    (["i7", "2"], [5, 2], 7),
    (["i2", "s3", "i1", "4"], [0, 3, 0, 4], 7),
]


@pytest.mark.parametrize(("texts", "blocks", "reserved"), PODS)
def test_memory_of_init_containers_is_used_again(
    texts: list[str], blocks: list[int], reserved: int
) -> None:
    containers = []
    for at, text in enumerate(texts):
        kind = {"i": ContainerKind.INIT, "s": ContainerKind.SIDECAR}.get(text[0], ContainerKind.APP)
        containers.append(container(f"c{at}", text.lstrip("is") + "Gi", kind))
    after = allocated(empty(10), pod("u", *containers), nodes=1)

    assert list(sizes(after, "u").values()) == blocks
    assert after.nodes[0].tables["memory"].reserved == reserved * GI
    assert after.nodes[0].assignments == len(texts)


def test_an_init_container_goes_when_a_later_container_starts() -> None:
    one = pod("u", init("i", "7Gi"), sidecar("s", "1Gi"), container("c", "2Gi"))
    after = allocated(empty(10), one, nodes=1)
    first, second, app = one.containers()

    assert manager(1).container_started(after, one, first) is after
    started = manager(1).container_started(after, one, app)
    assert sizes(started, "u") == {"s": 1, "c": 2}
    assert manager(1).container_started(started, one, second) is started


def test_release_takes_from_the_lowest_node_whoever_holds_it() -> None:
    ledger = allocated(empty(10, 10), simple("a", "12Gi"), Hint(0b11, True))
    ledger = allocated(ledger, simple("c", "6Gi"), Hint(0b11, False))
    after = manager(2).forget_stale(ledger, {ContainerKey("c", "c")})

    assert figures(after) == [(0, 10, 1, 0b11), (6, 4, 1, 0b11)]
    assert manager(2).holders(after) == [ContainerKey("c", "c")]
    empty_again = manager(2).forget_stale(after, set())
    assert figures(empty_again) == [(0, 10, 0, 0b01), (0, 10, 0, 0b10)]
    assert empty_again.blocks == {}


def test_the_pods_demand_is_the_larger_of_its_two_phases() -> None:
    many = pod(
        "u",
        init("i", "3Gi"),
        sidecar("s", "2Gi"),
        container("j", "5Gi", ContainerKind.INIT, hugepages_1Gi="9Gi"),
        container("c", "1Gi"),
        container("d", "3Gi"),
    )

    assert demand.of_pod(many) == {"memory": 7 * GI}


def test_a_demand_of_nothing_is_no_preference() -> None:
    nothing = pod("u", container("c"))

    assert demand.of_container(nothing.app_containers[0]) == {}
    assert manager(1).pod_hints(empty(10), nothing) == {}
    assert refusal(empty(10), nothing) == NoNodeFits("c")


def test_quantities_with_whole_values_in_odd_forms_are_accepted_after_the_round_trip() -> None:
    canonical = Quantity.parse("1.5Gi").canonical()

    assert canonical.as_int64() == 3 * GI // 2


@pytest.mark.parametrize("outlives", [True, False])
def test_memory_of_a_pod_that_is_gone_may_be_reused_by_nobody_in_native_mode(
    outlives: bool,
) -> None:
    policy = MemoryStaticPolicy(replace(EXACT, reuse_outlives_the_pod=outlives))
    ledger = replace(empty(10), reusable=ReusableMemory("u", {(1, "memory"): GI}))

    assert policy.forget_stale(ledger, {ContainerKey("u", "c")}) == ledger
    kept = policy.forget_stale(ledger, set()).reusable.of_pod("u")
    assert bool(kept) is outlives


def test_a_whole_pod_that_fits_no_nodes_is_refused() -> None:
    pools = MemoryPodPools(MemoryStaticPolicy())
    asked = whole_pods.pod("u", whole_pods.asked("1", "30Gi"), {"c0": None})
    whole = counting.counted(asked, whole_pods.node().rules.release_rules)
    refused = pools.allocate(empty(10, 10), whole, ZERO_HINT)

    assert isinstance(refused, Refused)
    assert refused.reason == NoNodeFits(WHOLE_POD)


def test_a_container_without_memory_is_ignored() -> None:
    ledger, of = empty(8, 8), pod("u", container("c0"), container("c1", "1Gi"))
    before, after = MemoryStaticPolicy(), MemoryStaticPolicy(no_memory_is_skipped=True)
    none, some = of.app_containers

    recorded = before.allocate(ledger, of, none, Hint(0b01, True))
    assert isinstance(recorded, MemoryLedger)
    assert recorded.blocks == {"u": {"c0": ()}}
    assert after.allocate(ledger, of, none, Hint(0b01, True)) is ledger
    assert after.container_hints(ledger, of, none) == {}
    assert after.container_hints(ledger, of, some)
