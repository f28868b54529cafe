"""Rules of the packed assignment that the worked examples do not show."""

from __future__ import annotations

from numalet.core.managers.cpu import free_cpus, take_packed, topology
from numalet.core.managers.cpu.reasons import TooFewCpus
from numalet.core.managers.cpu.take_packed import Packing, Reach
from values import cpu_builders
from values.cpu_builders import discovered, mask, text


def test_nothing_is_taken_for_nothing() -> None:
    assert take_packed.take(discovered(1, 1, 2, 1), 0b11, 0) == 0


def test_cpus_that_the_machine_does_not_have_are_counted_but_not_taken() -> None:
    assert TooFewCpus(2, 3) == take_packed.take(discovered(1, 1, 2, 1), mask("1,8-9"), 2)


def test_a_unit_that_is_too_large_is_passed_over_for_a_smaller_one() -> None:
    of = topology.discover(
        cpu_builders.machine(
            [(0, (0, 1), None), (0, (2, 3), None)], [(1, (4,), None), (1, (5,), None)]
        )
    )

    assert text(take_packed.take(of, mask("0-5"), 2)) == "4-5"
    assert text(take_packed.take(of, mask("0-5"), 3)) == "0,4-5"


def test_cores_are_listed_by_what_is_free_of_them() -> None:
    # Of node 1 less is free; then one CPU each of core 1 and of core 3 is in use.
    of, free = discovered(2, 2, 2, 2), mask("0-2,4-6")
    assert [text(core) for core in free_cpus.cores(of, free)] == ["2,6", "0,4", "1,5"]
    assert [text(core) for core in free_cpus.cores(of, mask("0-3,4,6"))] == [
        "1,5", "0,4", "3,7", "2,6"
    ]  # fmt: skip
    assert [text(core) for core in free_cpus.whole_cores(of, free, 2)] == ["2,6", "0,4", "1,5"]


def test_the_node_with_the_least_free_is_taken_from_first() -> None:
    assert text(take_packed.take(discovered(2, 2, 2, 2), mask("0-2,4-7"), 1)) == "7"


def test_sockets_of_unequal_size_are_compared_with_their_average() -> None:
    # 3 and 5 CPUs make 4 on average, so that socket 1 counts as whole when one CPU is in use;
    # all of it is taken then, the one in use too.
    of = topology.discover(
        cpu_builders.machine(
            [(0, (cpu,), None) for cpu in (0, 1, 2)] + [(1, (cpu,), None) for cpu in range(3, 8)]
        )
    )

    assert text(take_packed.take(of, mask("0,3-6"), 5)) == "3-7"


def test_a_socket_in_two_nodes_is_taken_twice_and_counted_twice() -> None:
    # Three sockets, each with one CPU on each of two nodes; 2 and 4 are in use.
    of = topology.discover(
        cpu_builders.machine(
            [(socket, (socket,), None) for socket in range(3)],
            [(socket, (socket + 3,), None) for socket in range(3)],
        )
    )

    assert text(take_packed.take(of, mask("0-1,3,5"), 4)) == "0,3"


def test_spread_passes_over_whole_cores() -> None:
    of = topology.discover(cpu_builders.shape(1, 1, 4, 2))

    assert text(take_packed.take(of, mask("0-6"), 3, Packing.SPREAD_OVER_CORES)) == "0-2"


def test_an_odd_request_takes_no_part_of_a_cache() -> None:
    of = topology.discover(cpu_builders.shape(1, 1, 4, 2, cores_per_cache=2))

    assert text(take_packed.take(of, mask("1-3,5-7"), 3, Packing.BY_UNCORE_CACHE)) == "1-2,5"
    assert text(take_packed.take(of, mask("1-3,5-7"), 4, Packing.BY_UNCORE_CACHE)) == "2-3,6-7"


def test_an_odd_number_leaves_one_cpu_of_a_cache() -> None:
    of = topology.discover(cpu_builders.shape(1, 1, 4, 2, cores_per_cache=2))
    quads = topology.discover(cpu_builders.shape(1, 1, 4, 4, cores_per_cache=2))
    odd_too = Packing.BY_UNCORE_CACHE_ODD_TOO

    assert text(take_packed.take(of, mask("1-3,5-7"), 3, odd_too)) == "2-3,6"
    assert text(take_packed.take(of, mask("1-3,5-7"), 4, odd_too)) == "2-3,6-7"
    # Two cores of four threads have 8, of which one is left: not the 5 that are asked for.
    of_plain = take_packed.take(quads, mask("0-15"), 5, Packing.PLAIN)
    assert of_plain == take_packed.take(quads, mask("0-15"), 5, odd_too)


def test_a_cache_whose_lowest_cores_are_broken_is_passed_over() -> None:
    of = topology.discover(cpu_builders.shape(1, 1, 6, 2, cores_per_cache=3))

    assert text(take_packed.take(of, mask("0-5,7-11"), 2, Packing.BY_UNCORE_CACHE)) == "3,9"


def test_a_cache_over_two_nodes_is_taken_twice_and_counted_twice() -> None:
    of = topology.discover(
        cpu_builders.machine(
            [(0, (0,), 7), (0, (1,), 8), (0, (2,), 8)], [(1, (3,), 7), (1, (4,), 9), (1, (5,), 9)]
        )
    )

    assert text(take_packed.take(of, mask("0-1,3-4"), 4, Packing.BY_UNCORE_CACHE)) == "0,3"


def test_an_affinity_stands_for_its_nodes_or_for_their_sockets() -> None:
    of = discovered(2, 4, 1, 1)

    assert text(take_packed.cpus_of_affinity(of, 0b0010, Reach.NODES)) == "1"
    assert text(take_packed.cpus_of_affinity(of, 0b0010, Reach.SOCKETS)) == "0-1"
    assert text(take_packed.cpus_of_affinity(of, 0b10000, Reach.NODES)) == ""


def test_whole_cores_of_the_largest_size_leave_out_smaller_cores() -> None:
    of = topology.discover(cpu_builders.machine([(0, (0, 1), None), (0, (2,), None)]))

    assert [text(core) for core in free_cpus.whole_cores(of, mask("0-2"), 2)] == ["0-1"]
