"""Whether v1.32 starts again on a memory file whose groups overlap."""

from __future__ import annotations

from numalet.core.config.rules import TopologyPolicy
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger, MemoryTable, NodeMemory
from numalet.core.model import numa_mask
from numalet.insight.state import restart
from numalet.insight.state.restart import Restart
from values import builders
from values.builders import GI, aligned, rules


def ledger(
    groups: dict[int, tuple[int, ...]], blocks: dict[str, tuple[int, ...]], reserved: int = 0
) -> MemoryLedger:
    """Nodes of 10Gi with these groups, and a block of 1Gi of each pod on these nodes."""
    counted = {i: sum(i in nodes for nodes in blocks.values()) for i in groups}
    return MemoryLedger(
        {
            i: NodeMemory(
                counted[i],
                {"memory": MemoryTable(10 * GI, 0, 10 * GI, reserved, 10 * GI - reserved)},
                numa_mask.of(group),
            )
            for i, group in groups.items()
        },
        {uid: {"c": (MemoryBlock(nodes, "memory", GI),)} for uid, nodes in blocks.items()},
    )


def test_a_kubelet_starts_again_on_what_it_wrote() -> None:
    node = builders.node(rules(builders.machine(10, 10), aligned(TopologyPolicy.RESTRICTED)))
    for uid, size in (("a", "15Gi"), ("b", "1Gi")):
        node, _ = node.admit(builders.simple(uid, size))

    assert Restart.YES is restart.would_restart(node.snapshot.memory)


def test_where_groups_overlap_it_depends_on_the_order() -> None:
    overlapping = ledger({0: (0,), 1: (0, 1)}, {"a": (0, 1), "b": (0,)})
    # Both blocks come to lie on node 0, so that node 1 keeps its memory.
    nodes = dict(overlapping.nodes)
    nodes[0] = NodeMemory(
        2, {"memory": MemoryTable(10 * GI, 0, 10 * GI, 2 * GI, 8 * GI)}, numa_mask.of((0,))
    )

    assert Restart.BY_CHANCE is restart.would_restart(MemoryLedger(nodes, overlapping.blocks))


def test_other_figures_are_never_accepted() -> None:
    assert Restart.NO is restart.would_restart(
        ledger({0: (0,), 1: (0, 1)}, {"a": (0, 1), "b": (0,)}, reserved=5)
    )


def test_with_many_containers_each_of_them_comes_last_once() -> None:
    blocks: dict[str, tuple[int, ...]] = {f"p{at}": (0,) for at in range(6)}
    blocks["w"] = (0, 1)
    many = ledger({0: (0, 1), 1: (0, 1)}, blocks)
    nodes = dict(many.nodes)
    nodes[0] = NodeMemory(
        7, {"memory": MemoryTable(10 * GI, 0, 10 * GI, 7 * GI, 3 * GI)}, numa_mask.of((0, 1))
    )

    assert Restart.BY_CHANCE is restart.would_restart(MemoryLedger(nodes, many.blocks))


def test_containers_without_blocks_do_not_matter() -> None:
    plain = ledger({0: (0,)}, {})

    assert Restart.YES is restart.would_restart(MemoryLedger(plain.nodes, {"u": {"c": ()}}))
