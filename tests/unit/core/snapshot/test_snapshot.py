"""Differences between snapshots, and what must always hold in one."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.config.rules import TopologyPolicy
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot import invariants, placement
from numalet.core.snapshot.invariants import Invariant
from numalet.core.snapshot.placement import Changes, Placement
from numalet.core.snapshot.snapshot import Snapshot
from values import builders
from values.builders import GI, aligned, node, rules, simple

RULES = rules(builders.machine(10, 10), aligned(TopologyPolicy.BEST_EFFORT))
KEY = ContainerKey("u", "c")
HELD = Placement(frozenset(), (MemoryBlock((0, 1), "memory", 15 * GI),), {})


def grouped() -> Snapshot:
    return node(RULES).admit(simple("u", "15Gi"))[0].snapshot


def test_an_admission_is_the_difference_it_makes() -> None:
    before = node(RULES).snapshot

    assert placement.diff_snapshots(before, grouped()) == Changes(
        pods_added=("u",),
        pods_gone=(),
        allocated={KEY: HELD},
        released={},
        reserved_bytes={0: {"memory": 10 * GI}, 1: {"memory": 5 * GI}},
        groups={0: 0b11, 1: 0b11},
    )
    assert placement.diff_snapshots(grouped(), before).released == {KEY: HELD}
    assert placement.diff_snapshots(grouped(), before).pods_gone == ("u",)


def test_who_holds_other_things_than_before_is_in_both() -> None:
    before = Snapshot(
        cpu=CpuLedger(frozenset(), {"u": {"c": frozenset({1}), "same": frozenset({2})}})
    )
    after = Snapshot(
        cpu=CpuLedger(frozenset(), {"u": {"c": frozenset({3}), "same": frozenset({2})}})
    )

    difference = placement.diff_snapshots(before, after)

    assert difference.released == {KEY: Placement(frozenset({1}), (), {})}
    assert difference.allocated == {KEY: Placement(frozenset({3}), (), {})}


def test_a_node_that_was_not_there_before_has_no_difference() -> None:
    assert placement.diff_snapshots(Snapshot(), grouped()).reserved_bytes == {}


def test_a_sound_snapshot_breaks_no_rule() -> None:
    assert invariants.violations(grouped()) == ()


def broken(**fields: object) -> list[tuple[Invariant, str]]:
    snapshot = grouped()
    node_map = dict(snapshot.memory.nodes)
    node_map[1] = replace(node_map[1], **fields)  # type: ignore[arg-type]
    ledger = MemoryLedger(node_map, snapshot.memory.blocks)
    return [(v.rule, v.place) for v in invariants.violations(replace(snapshot, memory=ledger))]


def test_every_broken_rule_is_named() -> None:
    table = grouped().memory.nodes[1].tables["memory"]

    assert broken(assignments=5) == [(Invariant.ASSIGNMENTS_COUNT_BLOCKS, "1")]
    assert broken(group=0b10) == [(Invariant.GROUPS_AGREE, "0")]
    assert broken(group=0b101) == [(Invariant.GROUPS_AGREE, "0"), (Invariant.GROUPS_AGREE, "1")]
    assert broken(tables={"memory": replace(table, free=0)}) == [
        (Invariant.TABLES_ADD_UP, "1 memory")
    ]
    assert broken(tables={"memory": replace(table, reserved=6 * GI, free=4 * GI)}) == [
        (Invariant.SUMS_AGREE, "memory")
    ]
