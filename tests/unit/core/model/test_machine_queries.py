"""Counting on a machine: sockets, cores, dies, clusters, caches, odd nodes."""

from __future__ import annotations

from machines import machine_counts as counts
from numalet.core.model import machine_queries as ask
from numalet.core.model.machine import Cache, Cpu, HugePagePool, Machine, NumaNode
from numalet.core.model.machine_info import CoreInfo, MachineInfo, NumaNodeInfo


def _cpu(cpu_id: int, core: int, package: int, mates: set[int], **more: int) -> Cpu:
    return Cpu(
        cpu_id,
        package_id=package,
        core_id=core,
        thread_siblings=frozenset(mates),
        package_siblings=frozenset({0, 1, 2, 3} if package == 0 else {4, 5}),
        **more,  # type: ignore[arg-type]
    )


HYBRID = Machine(
    nodes=(NumaNode(0, 100, frozenset(range(6))), NumaNode(3, 0, frozenset())),
    cpus=(
        _cpu(0, 0, 0, {0, 1}),
        _cpu(1, 0, 0, {0, 1}),
        _cpu(2, 1, 0, {2, 3}),
        Cpu(3, online=False),
        _cpu(4, 0, 1, {4}),
        _cpu(5, 1, 1, {5}),
    ),
)


def test_sockets_are_sets_of_online_cpus() -> None:
    assert ask.sockets(HYBRID) == (frozenset({0, 1, 2}), frozenset({4, 5}))


def test_cores_are_counted_by_their_siblings_and_not_by_their_ids() -> None:
    assert ask.cores(HYBRID) == (
        frozenset({0, 1}),
        frozenset({2}),
        frozenset({4}),
        frozenset({5}),
    )


def test_threads_per_core_differ_in_a_hybrid_machine() -> None:
    assert ask.threads_per_core(HYBRID) == (1, 2)


def test_core_ids_count_together_with_their_package() -> None:
    assert ask.core_id_count(HYBRID) == 4


def test_package_ids_are_listed_once() -> None:
    assert ask.package_ids(HYBRID) == (0, 1)


def test_cpus_without_siblings_make_neither_sockets_nor_cores() -> None:
    machine = Machine(cpus=(Cpu(0, core_id=1),))
    assert ask.sockets(machine) == ()
    assert ask.cores(machine) == ()
    assert ask.package_ids(machine) == ()


def test_cpus_without_a_place_are_not_placed() -> None:
    assert ask.placed_cpus(Machine(cpus=(Cpu(0), Cpu(1, package_id=0, online=False)))) == ()


def test_a_die_is_package_and_number() -> None:
    cpus = (_cpu(0, 0, 0, {0}, die_id=0), _cpu(4, 0, 1, {4}, die_id=0))
    assert counts.die_count(Machine(cpus=cpus)) == 2


def test_dies_are_unknown_when_not_said_or_minus_one() -> None:
    assert counts.die_count(HYBRID) is None
    assert counts.die_count(Machine(cpus=(_cpu(0, 0, 0, {0}, die_id=-1),))) is None


def test_a_cluster_is_package_and_number() -> None:
    cpus = (_cpu(0, 0, 0, {0}, cluster_id=7), _cpu(4, 0, 1, {4}, cluster_id=7))
    assert counts.cluster_count(Machine(cpus=cpus)) == 2


def test_clusters_are_unknown_when_not_said_or_unset() -> None:
    assert counts.cluster_count(HYBRID) is None
    assert counts.cluster_count(Machine(cpus=(_cpu(0, 0, 0, {0}, cluster_id=65535),))) is None
    assert counts.cluster_count(Machine(cpus=(_cpu(0, 0, 0, {0}, cluster_id=-1),))) is None


def test_caches_are_groups_of_online_cpus_by_name() -> None:
    shared = Cache(3, "Unified", 0, 1024, frozenset({0, 1, 9}))
    own = Cache(1, "Data", None, None, None)
    cpus = tuple(Cpu(n, package_id=0, caches=(own, shared)) for n in (0, 1))
    assert counts.cache_groups(Machine(cpus=cpus)) == {
        "L1d": (frozenset({0}), frozenset({1})),
        "L3": (frozenset({0, 1}),),
    }


def test_an_instruction_cache_has_its_letter() -> None:
    assert counts.cache_name(Cache(1, "Instruction")) == "L1i"


def test_nodes_without_cpus_and_without_memory_are_found() -> None:
    assert ask.cpuless_nodes(HYBRID) == (3,)
    assert ask.memoryless_nodes(HYBRID) == (3,)


def test_the_online_part_of_a_node_leaves_offline_cpus_out() -> None:
    assert ask.online_part(HYBRID, HYBRID.nodes[0]) == frozenset({0, 1, 2, 4, 5})


def test_online_nodes_are_those_of_the_kernels_list() -> None:
    nodes = (NumaNode(0), NumaNode(1))
    assert counts.online_node_ids(Machine(nodes=nodes, node_files={"online": "1\n\0"})) == (1,)
    assert counts.online_node_ids(Machine(nodes=nodes, node_files={"online": "x"})) == (
        0,
        1,
    )
    assert counts.online_node_ids(Machine(nodes=nodes)) == (0, 1)


def test_page_sizes_are_those_of_all_nodes() -> None:
    nodes = (
        NumaNode(0, hugepages=(HugePagePool(1048576, 1), HugePagePool(2048, 1))),
        NumaNode(1, hugepages=(HugePagePool(2048, 3),)),
    )
    assert ask.page_sizes_kib(Machine(nodes=nodes)) == (2048, 1048576)


def test_nodes_are_listed_by_id_and_in_the_given_order() -> None:
    machine = Machine(nodes=(NumaNode(10), NumaNode(2)))
    assert machine.node_ids == (2, 10)
    assert [node.node_id for node in machine.nodes_by_id] == [2, 10]
    assert [node.node_id for node in machine.nodes] == [10, 2]


def test_offline_cpus_are_known() -> None:
    assert HYBRID.offline_cpus == frozenset({3})


def test_a_node_with_cpus_and_memory_is_an_ordinary_one() -> None:
    assert ask.NodeClass.CPU is ask.node_class(NumaNode(0, 1 << 30, cpus=frozenset({0})))


def test_memory_without_cpus_is_a_class_of_its_own() -> None:
    assert ask.NodeClass.MEMORY is ask.node_class(NumaNode(2, 1 << 30))


def test_a_node_without_memory_is_empty_whether_or_not_it_has_cpus() -> None:
    nodes = (NumaNode(1, 0, cpus=frozenset({0})), NumaNode(2, 0))

    assert [ask.node_class(node) for node in nodes] == [ask.NodeClass.EMPTY] * 2


def test_memory_that_was_not_told_counts_as_memory() -> None:
    assert ask.NodeClass.MEMORY is ask.node_class(NumaNode(0, None))


def test_the_kubelets_view_has_the_same_classes() -> None:
    core = CoreInfo(socket_id=0, core_id=0, threads=(0,))
    nodes = (NumaNodeInfo(0, 1, cores=(core,)), NumaNodeInfo(1, 1), NumaNodeInfo(2, 0))
    classes = [ask.NodeClass.CPU, ask.NodeClass.MEMORY, ask.NodeClass.EMPTY]

    assert classes == [ask.node_class(node) for node in nodes]


def test_classes_are_told_by_node_id() -> None:
    machine = MachineInfo((NumaNodeInfo(8, 1 << 30), NumaNodeInfo(0, 0)), 1 << 30, 0, 0)
    assert ask.classes_by_node(machine) == {8: ask.NodeClass.MEMORY, 0: ask.NodeClass.EMPTY}
