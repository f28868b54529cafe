"""Worked examples of both assignments on eight machines, observed on a kubelet v1.32.

Machines, with the numbering of their CPUs:

    A  1 socket, 1 NUMA node, 4 cores x 2 threads; siblings are 4 apart
    B  2 sockets of 1 node of 3 cores x 2; cores alternate between the sockets; siblings 6 apart
    C  2 sockets of 2 nodes of 4 cores x 2; siblings 16 apart
    D  2 sockets of 4 nodes of 2 cores x 2; siblings 16 apart
    E  1 socket, 1 node, 16 cores x 2, a cache for every 4 cores; siblings 16 apart
    F  2 nodes of 2 sockets of 2 cores x 2; siblings are neighbours
    G  2 sockets of 1 node of 8 cores x 1, a cache for every 4 cores

Assignments: P packed, by cores (P), spread (P+spread), by caches (P+uncore); D1 and D2
distributed in groups of 1 and 2. ``-``: too few CPUs. A last column is what would come out if
winners were not overwritten.
"""

from __future__ import annotations

import pytest

from numalet.core.managers.cpu import take_distributed, take_packed, topology
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.reasons import TooFewCpus, Unpickable
from numalet.core.managers.cpu.take_distributed import Storage, copied, overwritten
from numalet.core.managers.cpu.take_packed import Packing
from values import cpu_builders

MACHINES = {
    "A": cpu_builders.shape(1, 1, 4, 2),
    "B": cpu_builders.machine(
        [(0, (core, core + 6), None) for core in (0, 2, 4)],
        [(1, (core, core + 6), None) for core in (1, 3, 5)],
    ),
    "C": cpu_builders.shape(2, 4, 4, 2),
    "D": cpu_builders.shape(2, 8, 2, 2),
    "E": cpu_builders.shape(1, 1, 16, 2, cores_per_cache=4),
    "F": cpu_builders.machine(
        *(
            [(core // 2, (2 * core, 2 * core + 1), None) for core in range(first, first + 4)]
            for first in (0, 4)
        )
    ),
    "G": cpu_builders.shape(2, 2, 8, 1, cores_per_cache=4),
}
TOPOLOGIES = {name: topology.discover(machine) for name, machine in MACHINES.items()}
PACKINGS = {
    "P": Packing.PLAIN,
    "P+spread": Packing.SPREAD_OVER_CORES,
    "P+uncore": Packing.BY_UNCORE_CACHE,
}

EXAMPLES = """
    MACHINE AVAILABLE ASSIGNMENT COUNT RESULT
    A all P 1 0
    A all P 2 0,4
    A all P 3 0-1,4
    A all P 4 0-1,4-5
    A all P 7 0-6
    A all P 8 0-7
    A all P 9 -
    A 1-3,5-7 P 2 1,5
    A 1-3,5-7 P 3 1-2,5
    A 1-7 P 1 4
    A 1-7 P 2 1,5
    A 0-3 P 2 0-1
    A 2,4-7 P 3 2,4,6
    B all P 1 0
    B all P 2 0,6
    B all P 3 0,2,6
    B all P 5 0,2,4,6,8
    B all P 6 0,2,4,6,8,10
    B all P 7 0-2,4,6,8,10
    B all P 8 0-2,4,6-8,10
    B all P 12 0-11
    B 1-11 P 1 6
    B 1-11 P 6 1,3,5,7,9,11
    B 1-5,7-11 P 4 2,4,8,10
    B 1-5,7-11 P 6 1,3,5,7,9,11
    B 0-5 P 4 0-2,4
    B 2-11 P 7 2-4,6,8-10
    C all P 2 0,16
    C all P 8 0-3,16-19
    C all P 9 0-4,16-19
    C all P 16 0-7,16-23
    C all P 18 0-8,16-24
    C all P 24 0-11,16-27
    C 1-31 P 8 4-7,20-23
    C 1-31 P 16 8-15,24-31
    C 1-15,17-31 P 4 1-2,17-18
    C 2-15,18-31 P 10 2,4-7,18,20-23
    C 0-11,16-27 P 12 0-1,8-11,16-17,24-27
    A all P+spread 2 0-1
    A all P+spread 3 0-2
    A all P+spread 4 0-3
    A all P+spread 8 0-7
    B all P+spread 4 0,2,4,6
    C all P+spread 10 0-5,16-19
    C 1-31 P+spread 9 1,4-7,20-23
    E all P+uncore 2 0,16
    E all P+uncore 3 0-1,16
    E all P+uncore 6 0-2,16-18
    E all P+uncore 8 0-3,16-19
    E all P+uncore 9 0-4,16-19
    E all P+uncore 10 0-4,16-20
    E all P+uncore 12 0-5,16-21
    E all P+uncore 16 0-7,16-23
    E all P+uncore 20 0-9,16-25
    E 1-15,17-31 P+uncore 6 1-3,17-19
    E 1-15,17-31 P+uncore 8 4-7,20-23
    E 2-15,18-31 P+uncore 4 2-3,18-19
    E 2-15,18-31 P+uncore 12 2-7,18-23
    E 1-15,17-31 P+uncore 5 1-3,17-18
    E 2-5,18-21 P+uncore 6 2-4,18-20
    G all P+uncore 3 0-2
    G all P+uncore 5 0-4
    G 1-15 P+uncore 3 1-3
    G 1-15 P+uncore 4 4-7
    F all P 1 0
    F all P 2 0-1
    F all P 4 0-3
    F all P 5 0-4
    F all P 8 0-7
    F all P 10 0-9
    F 1-15 P 4 4-7
    F 1-15 P 6 2-7
    C all D1 1 0
    C all D1 4 0-1,16-17
    C all D1 8 0-3,16-19
    C all D1 9 0-2,4-5,16-17,20-21
    C all D1 10 0-2,4-6,16-17,20-21
    C all D1 12 0-2,4-6,16-18,20-22
    C all D1 16 0-7,16-23
    C all D1 17 0-2,4-6,8-10,16-18,20-22,24-25
    C all D1 18 0-2,4-6,8-10,16-18,20-22,24-26
    C all D1 20 0-10,16-18,20-22,24-26
    C all D1 24 0-11,16-27
    C all D2 4 0-1,16-17
    C all D2 8 0-3,16-19
    C all D2 9 0-4,16-19
    C all D2 10 0-2,4-5,16-18,20-21
    C all D2 12 0-2,4-6,16-18,20-22
    C all D2 18 0-2,4-6,8-10,16-18,20-22,24-26
    C all D2 20 0-6,8-10,16-22,24-26
    C all D2 22 0-10,16-26
    C all D2 26 0-6,8-10,12-14,16-22,24-26,28-30
    C 1-31 D1 16 4-11,20-27
    C 1-15,17-31 D2 16 4-11,20-27
    C 0-3,16-19 D1 10 -
    C 2-15,18-31 D1 14 4-11,20-22,24-26
    B all D1 8 0-3,6-9
    B all D2 10 0-4,6-10
    B 1-11 D1 9 1-5,7-10
    D all D2 4 0-1,16-17
    D all D2 6 0-2,16-18
    D all D2 8 0-3,16-19
    D all D2 10 0-4,16-20
    D all D2 12 0-5,16-21
    D all D2 14 0-5,14,16-21,30 0-6,16-22
    D all D2 16 0-5,14-21,30-31 0-7,16-23
    D all D2 20 0-9,16-25
    D all D2 24 0-9,14-25,30-31 0-11,16-27
    D all D2 28 0-9,12-25,28-31 0-13,16-29
"""
ROWS = [line.split() for line in EXAMPLES.strip().splitlines()[1:]]


def taken(name: str, available: str, assignment: str, count: int, storage: Storage) -> str:
    """The CPUs that the assignment takes; ``-`` if there are too few."""
    on = TOPOLOGIES[name]
    free = on.cpus if available == "all" else cpu_builders.mask(available)
    result: CpuMask | Unpickable
    if assignment in PACKINGS:
        result = take_packed.take(on, free, count, PACKINGS[assignment])
    else:
        result = take_distributed.take(on, free, count, int(assignment[1:]), storage)
    if result == TooFewCpus(count, free.bit_count()):
        return "-"
    return cpu_builders.text(result)


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_an_assignment_takes_the_cpus_that_the_kubelet_takes(row: list[str]) -> None:
    name, available, assignment, count, expected = row[:5]

    assert expected == taken(name, available, assignment, int(count), overwritten)


@pytest.mark.parametrize("row", [row for row in ROWS if row[2].startswith("D")], ids=" ".join)
def test_without_overwriting_the_winner_itself_is_handed_out(row: list[str]) -> None:
    name, available, assignment, count = row[:4]

    assert row[-1] == taken(name, available, assignment, int(count), copied)
