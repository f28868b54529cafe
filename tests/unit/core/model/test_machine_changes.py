"""A machine with other huge pages: which nodes have them, and what the sums come to."""

from __future__ import annotations

from numalet.core.model import machine_changes
from numalet.core.model.machine import HugePagePool, Machine, NumaNode
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo

GIB_KIB = 1024 * 1024
TWO_MIB_KIB = 2048
ONE_EACH = (HugePagePool(GIB_KIB, 1, 1), HugePagePool(TWO_MIB_KIB, 10, 10))
NODES = (
    NumaNode(0, 100, frozenset({0}), hugepages=ONE_EACH),
    NumaNode(1, 100, frozenset({1}), hugepages=ONE_EACH),
    NumaNode(2, 100, hugepages=ONE_EACH),
)


def _node_seen(node_id: int, *cpus: int) -> NumaNodeInfo:
    cores = tuple(CoreInfo(0, cpu, (cpu,)) for cpu in cpus)
    return NumaNodeInfo(node_id, 100, (HugePages(TWO_MIB_KIB, 10),), cores)


def test_nodes_with_cpus_get_the_pages_and_others_keep_theirs() -> None:
    changed = machine_changes.with_huge_pages(Machine(nodes=NODES), {TWO_MIB_KIB: 7})
    with_seven = (HugePagePool(GIB_KIB, 1, 1), HugePagePool(TWO_MIB_KIB, 7, 7))
    assert [node.hugepages for node in changed.nodes] == [with_seven, with_seven, ONE_EACH]


def test_the_machine_has_the_sum_of_its_nodes() -> None:
    machine = Machine(nodes=NODES, hugepages=(HugePagePool(GIB_KIB, 3, 3),))
    changed = machine_changes.with_huge_pages(machine, {TWO_MIB_KIB: 7})
    assert changed.hugepages == (HugePagePool(GIB_KIB, 3, 3), HugePagePool(TWO_MIB_KIB, 24, 24))


def test_a_machine_without_nodes_has_the_pages_itself() -> None:
    machine = Machine(has_numa=False, hugepages=ONE_EACH)
    changed = machine_changes.with_huge_pages(machine, {GIB_KIB: 4})
    assert changed.hugepages == (HugePagePool(GIB_KIB, 4, 4), HugePagePool(TWO_MIB_KIB, 10, 10))


def test_the_view_that_was_given_changes_with_the_machine() -> None:
    view = MachineInfo(
        nodes=(_node_seen(0, 0), _node_seen(1)),
        memory_capacity_bytes=200,
        cpu_count=1,
        socket_count=1,
        hugepages=(HugePages(TWO_MIB_KIB, 20),),
    )
    machine = Machine(nodes=NODES, given_view=view)
    changed = machine_changes.with_huge_pages(machine, {TWO_MIB_KIB: 7, GIB_KIB: 2}).given_view
    assert changed is not None
    assert changed.nodes[0].hugepages == (HugePages(GIB_KIB, 2), HugePages(TWO_MIB_KIB, 7))
    assert changed.nodes[1] == view.nodes[1]
    assert changed.hugepages == (HugePages(GIB_KIB, 2), HugePages(TWO_MIB_KIB, 17))


def test_sizes_are_those_of_the_machine_and_of_its_nodes() -> None:
    machine = Machine(nodes=NODES, hugepages=(HugePagePool(64, 0, 0),))
    assert machine_changes.page_sizes_kib(machine) == {64, TWO_MIB_KIB, GIB_KIB}
