"""The node map as rows."""

from __future__ import annotations

from numalet.core.config.rules import MemoryPolicy, TopologyPolicy
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import ContainerKey
from numalet.core.node.node import Node
from numalet.insight.maps import resource_maps
from numalet.insight.maps.resource_maps import (
    MemoryMap,
    SimulationBlockDocument,
    SimulationHolderDocument,
    SimulationNodeDocument,
    TypeDocument,
)
from values import builders
from values.builders import GI, aligned, container, node, pod, rules, simple

RULES = rules(
    builders.machine(10, 10, node_ids=(0, 4)), aligned(TopologyPolicy.BEST_EFFORT), {0: GI}
)
BOTH = [SimulationBlockDocument([0, 4], "memory", 15 * GI)]


def shown(of: Node) -> MemoryMap:
    return resource_maps.memory_map(of.snapshot, of.rules.machine, of.leftovers(), of.snapshot.pods)


def test_every_node_has_its_figures_and_its_group() -> None:
    after, _ = node(RULES).admit(simple("u", "15Gi"))

    assert shown(after).nodes == [
        SimulationNodeDocument(
            0, NodeClass.CPU, 1, [0, 4], [TypeDocument("memory", 10 * GI, GI, 9 * GI, 9 * GI, 0)]
        ),
        SimulationNodeDocument(
            4,
            NodeClass.CPU,
            1,
            [0, 4],
            [TypeDocument("memory", 10 * GI, 0, 10 * GI, 6 * GI, 4 * GI)],
        ),
    ]


def test_types_are_in_the_order_of_their_names() -> None:
    pages = rules(builders.machine(10, hugepages={2048: 4, 1048576: 1}))

    assert [row.resource for row in shown(node(pages)).nodes[0].types] == [
        *("hugepages-1Gi", "hugepages-2Mi", "memory")
    ]


def test_an_active_pod_is_called_by_its_name() -> None:
    after, _ = node(RULES).admit(simple("u", "15Gi"))

    assert shown(after).active == [SimulationHolderDocument("u", "c", "default/u", BOTH, "", {})]
    assert shown(after).left_behind == []


def test_a_pod_without_a_manifest_is_called_by_its_uid() -> None:
    before, _ = node(RULES).admit(simple("u", "15Gi"))
    found = node(RULES, before.state_files()).assume_running([ContainerKey("u", "c")])

    assert shown(found).active == [SimulationHolderDocument("u", "c", "u", BOTH, "", {})]


def test_what_is_left_behind_stands_apart() -> None:
    after, _ = node(RULES).admit(pod("u", container("a", "4Gi"), container("b", "99Gi")))

    assert shown(after).active == []
    assert [(held.pod_uid, held.container) for held in shown(after).left_behind] == [("u", "a")]


def test_without_the_memory_manager_the_map_is_empty() -> None:
    off = rules(builders.machine(10), policy=MemoryPolicy.NONE)

    assert shown(node(off)) == MemoryMap([], [], [])
