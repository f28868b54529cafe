"""How the CPU Manager counts and names the parts of a machine."""

from __future__ import annotations

from numalet.core.managers.cpu import cpu_mask, topology
from numalet.core.managers.cpu.topology import TopologyPart
from numalet.core.model.machine_info import CoreInfo, MachineInfo, NumaNodeInfo
from values import cpu_builders


def test_a_core_is_named_after_its_smallest_cpu() -> None:
    of = topology.discover(cpu_builders.machine([(0, (7, 3), None), (0, (1, 5), None)]))

    assert [*of.cores] == [1, 3]
    assert cpu_builders.text(of.core_of_cpu[7]) == "3,7"


def test_a_core_without_an_uncore_cache_counts_to_the_cache_with_the_number_of_its_socket() -> None:
    of = topology.discover(
        cpu_builders.machine([(4, (0,), None), (4, (1,), 9), (5, (2,), None), (5, (3,), 4)])
    )

    assert [(part.part_id, cpu_builders.text(part.cpus)) for part in of.uncores_of_node[0]] == [
        (4, "0,3"),
        (5, "2"),
        (9, "1"),
    ]


def test_a_cache_over_two_nodes_is_listed_in_both_with_what_is_there() -> None:
    of = topology.discover(cpu_builders.machine([(0, (0,), 1)], [(0, (1,), 1)]))

    assert (TopologyPart(1, 0b11, 0b01),) == of.uncores_of_node[0]
    assert (TopologyPart(1, 0b11, 0b10),) == of.uncores_of_node[1]


def test_averages_are_rounded_down() -> None:
    of = topology.discover(
        cpu_builders.machine([(0, (0, 1), 1), (0, (2,), 1)], [(1, (3, 4), 2), (1, (5, 6), 3)])
    )

    assert (
        of.cpus_per_core,
        of.cpus_per_socket,
        of.cpus_per_uncore,
        of.nodes_per_socket,
    ) == (1, 3, 2, 1)


def test_a_machine_without_parts_has_averages_of_zero() -> None:
    of = topology.discover(MachineInfo((), 0, 0, 0))

    assert (of.cpus_per_core, of.cpus_per_socket, of.nodes_per_socket, of.nodes) == (0, 0, 0, ())


def test_nodes_without_cpus_are_no_nodes_here() -> None:
    nodes = (NumaNodeInfo(3, 0), NumaNodeInfo(10, 0, cores=(CoreInfo(0, 0, (1,)),)))
    of = topology.discover(MachineInfo(nodes, 0, 1, 1))

    assert of.node_ids == (10,)


def test_nodes_are_the_larger_units_if_there_are_at_least_as_many_sockets() -> None:
    assert [
        cpu_builders.discovered(sockets, nodes, 1, 1).numa_first
        for sockets, nodes in ((4, 2), (2, 2), (1, 2))
    ] == [True, True, False]


def test_a_mask_names_the_cpus_of_its_set() -> None:
    cpus = frozenset({0, 5, 63, 64, 511})

    assert cpus == cpu_mask.to_set(cpu_mask.of_set(cpus))
    assert cpu_mask.ids(cpu_mask.of(cpus)) == [0, 5, 63, 64, 511]
    assert cpu_mask.ids(cpu_mask.EMPTY) == []
