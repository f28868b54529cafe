"""The kubelet's view of a machine, where it differs from the machine."""

from __future__ import annotations

from numalet.core.model.kubelet_view import by_name, kubelet_view, machine_of_view
from numalet.core.model.machine import Cache, Cpu, HugePagePool, Machine, NumaNode, ProcFacts
from numalet.core.model.machine_info import (
    CoreInfo,
    HugePages,
    MachineInfo,
    NodeCache,
    NumaNodeInfo,
    OperatingSystem,
)

L3 = Cache(3, "Unified", 5, 4096, frozenset({0, 1}), 2)


def _machine(**changes: object) -> Machine:
    cpus = (
        Cpu(0, package_id=0, core_id=0),
        Cpu(1, package_id=0, core_id=1),
        Cpu(10, package_id=0, core_id=0),
        Cpu(2, online=False, package_id=0, core_id=2),
    )
    every = frozenset({0, 1, 2, 10})
    node = NumaNode(0, 1024, every, every)
    return Machine(**({"nodes": (node,), "cpus": cpus} | changes))  # type: ignore[arg-type]


def test_names_are_sorted_as_text() -> None:
    assert by_name(range(12)) == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_core_is_package_and_core_id_inside_a_node() -> None:
    (node,) = kubelet_view(_machine()).nodes
    assert node.cores == (CoreInfo(0, 0, (0, 10)), CoreInfo(0, 1, (1,)))


def test_offline_cpus_are_not_counted() -> None:
    assert kubelet_view(_machine()).cpu_count == 3


def test_a_link_counts_and_the_list_does_not() -> None:
    node = NumaNode(0, 1024, frozenset({0, 1}), frozenset({1}))
    assert kubelet_view(_machine(nodes=(node,))).cpu_ids == (1,)


def test_lists_stand_in_where_every_link_is_broken() -> None:
    node = NumaNode(0, 1024, frozenset({0, 1}), frozenset({1}), frozenset({1}))
    assert kubelet_view(_machine(nodes=(node,))).cpu_ids == (0, 1)


def test_a_link_to_a_cpu_that_is_not_there_is_passed_over() -> None:
    node = NumaNode(0, 1024, frozenset(), frozenset({0, 99}))
    assert kubelet_view(_machine(nodes=(node,))).cpu_ids == (0,)


def test_cpus_without_core_or_package_are_passed_over() -> None:
    cpus = (Cpu(0, package_id=0), Cpu(1, core_id=0), Cpu(2, package_id=0, core_id=0))
    assert kubelet_view(_machine(cpus=cpus)).cpu_ids == (2,)


def test_sockets_and_cores_are_those_of_cpuinfo() -> None:
    info = kubelet_view(_machine(proc=ProcFacts(core_id_count=7, package_id_count=4)))
    assert (info.physical_core_count, info.socket_count) == (7, 4)


def test_sockets_and_cores_are_counted_where_cpuinfo_is_silent() -> None:
    info = kubelet_view(_machine(proc=ProcFacts(core_id_count=0, package_id_count=0)))
    assert (info.physical_core_count, info.socket_count) == (2, 1)


def test_memory_is_mem_total() -> None:
    info = kubelet_view(_machine(proc=ProcFacts(meminfo={"MemTotal": 7})))
    assert info.memory_capacity_bytes == 7 * 1024


def test_memory_is_the_sum_of_the_nodes_without_meminfo() -> None:
    nodes = (NumaNode(0, 1024), NumaNode(1, None))
    assert kubelet_view(_machine(nodes=nodes)).memory_capacity_bytes == 1024


def test_huge_pages_keep_their_order_and_an_unknown_count_is_none() -> None:
    pools = (HugePagePool(1048576, 2), HugePagePool(2048, None))
    info = kubelet_view(_machine(hugepages=pools))
    assert info.hugepages == (HugePages(1048576, 2), HugePages(2048, 0))


def test_without_numa_every_package_is_a_node_without_memory() -> None:
    cpus = (
        Cpu(0, package_id=1, core_id=0),
        Cpu(1, package_id=0, core_id=0),
        Cpu(2, online=False, package_id=0, core_id=1),
        Cpu(3),
    )
    info = kubelet_view(Machine(cpus=cpus, has_numa=False))
    assert info.nodes == (
        NumaNodeInfo(0, 0, cores=(CoreInfo(0, 0, (1,)),)),
        NumaNodeInfo(1, 0, cores=(CoreInfo(1, 0, (0,)),)),
    )
    # Offline CPUs count here: cAdvisor counts directories.
    assert info.cpu_count == 4


def test_node_state_and_drawers_tell_cores_apart() -> None:
    cpus = (
        Cpu(0, package_id=0, core_id=0, book_id="1", drawer_id="1"),
        Cpu(1, package_id=0, core_id=0, book_id="2", drawer_id="1"),
    )
    (node,) = kubelet_view(_machine(cpus=cpus)).nodes
    assert [core.book_id for core in node.cores] == ["1", "2"]


def _with_caches(*caches: tuple[Cache, ...]) -> NumaNodeInfo:
    cpus = tuple(
        Cpu(number, package_id=0, core_id=number, caches=cache)
        for number, cache in enumerate(caches)
    )
    every = frozenset(range(len(caches)))
    machine = Machine(nodes=(NumaNode(0, 0, every, every),), cpus=cpus)
    return kubelet_view(machine).nodes[0]


def test_a_cache_of_the_whole_node_is_the_nodes() -> None:
    node = _with_caches((L3,), (L3,))
    assert node.caches == (NodeCache(3, 5, 4096),)
    assert [core.uncore_cache_id for core in node.cores] == [None, None]


def test_a_cache_of_a_part_of_the_node_is_an_uncore_cache() -> None:
    node = _with_caches((L3,), (L3,), (L3,), (L3,))
    assert node.caches == ()
    assert [core.uncore_cache_id for core in node.cores] == [5, 5, 5, 5]


def test_the_first_uncore_cache_counts() -> None:
    other = Cache(4, "Unified", 6, 4096, frozenset({0}), 1)
    assert _with_caches((L3, other), (), ()).cores[0].uncore_cache_id == 5


def test_caches_of_lower_levels_do_not_matter() -> None:
    low = Cache(2, "Unified", 0, 4096, frozenset({0, 1}), 2)
    node = _with_caches((low,), (low,))
    assert node.caches == ()
    assert [core.uncore_cache_id for core in node.cores] == [None, None]


def test_a_cache_without_an_id_ends_the_reading_for_the_node() -> None:
    partial = Cache(1, "Data", None, 4096, frozenset({1}), 1)
    node = _with_caches((L3,), (partial, L3), (L3,))
    assert [core.uncore_cache_id for core in node.cores] == [5, None, None]


def test_a_given_view_is_the_view() -> None:
    info = MachineInfo(
        nodes=(
            NumaNodeInfo(
                7,
                1 << 30,
                (HugePages(2048, 3),),
                (CoreInfo(1, 4, (0, 2), 9), CoreInfo(1, 5, (1,))),
                (10,),
            ),
        ),
        memory_capacity_bytes=1,
        cpu_count=3,
        socket_count=5,
        hugepages=(HugePages(2048, 4),),
        os=OperatingSystem.WINDOWS,
    )
    machine = machine_of_view(info, "given")
    assert kubelet_view(machine) is info
    assert machine.os is OperatingSystem.WINDOWS
    assert machine.nodes[0] == NumaNode(
        7,
        1 << 30,
        frozenset({0, 1, 2}),
        frozenset({0, 1, 2}),
        hugepages=(HugePagePool(2048, 3),),
        distances=(10,),
    )
    assert machine.hugepages == (HugePagePool(2048, 4),)
    assert machine.cpus[2].thread_siblings == frozenset({0, 2})
    assert machine.cpus[1].package_siblings == frozenset({0, 1, 2})
    assert machine.cpus[0].caches[0].cpus == frozenset({0, 2})
    assert machine.cpus[1].caches == ()
