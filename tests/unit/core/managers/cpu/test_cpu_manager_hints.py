"""Which sets of NUMA nodes the CPU Manager offers, which are preferred, why others are not.

Examples were observed on a kubelet v1.32. Machine H: two sockets of one NUMA node of 3 cores x 2,
siblings 6 apart; C: two sockets of two nodes of 4 cores x 2, siblings 16 apart.
"""

from __future__ import annotations

import pytest

from numalet.core.hints.provider import Impossible
from numalet.core.managers.cpu import hints, topology
from numalet.core.managers.cpu.hints import CpuHintFamily
from numalet.core.managers.cpu.reasons import (
    NoCpusOnNodes,
    NoNodesFit,
    ReuseElsewhere,
    TooFewCpusOnNodes,
)
from numalet.core.managers.cpu.take_packed import Reach
from numalet.core.model.machine_info import MachineInfo
from values import cpu_builders

MACHINES = {"H": cpu_builders.shape(2, 2, 3, 2), "C": cpu_builders.shape(2, 4, 4, 2)}

EXAMPLES = """\
    MACHINE AVAILABLE REUSE COUNT BY-SOCKET HINTS
    H 1-5,7-11 - 2 no {0}* {1}* {0,1}
    H 1-5,7-11 - 5 no {1}* {0,1}
    H 1-5,7-11 - 6 no {1}* {0,1}
    H 1-5,7-11 - 7 no {0,1}*
    H 1-5,7-11 - 11 no
    H 1-2,7-8 - 3 no {0}* {0,1}
    H 1-2,7-8,3 - 6 no
    H 2-5,8-11 1,7 3 no {0}* {0,1}
    H 2,8 3,9 4 no {0,1}
    H 2-5,8-11 1,3 2 no {0,1}
    C 1-15,17-31 - 4 no {0}* {1}* {2}* {3}* {0,1} {0,2} {0,3} {1,2} {1,3} {2,3} {0,1,2} \
        {0,1,3} {0,2,3} {1,2,3} {0,1,2,3}
    C 1-15,17-31 - 8 no {1}* {2}* {3}* {0,1} {0,2} {0,3} {1,2} {1,3} {2,3} {0,1,2} {0,1,3} \
        {0,2,3} {1,2,3} {0,1,2,3}
    C 1-15,17-31 - 8 yes {1}* {2}* {3}* {0,1}* {0,2} {0,3} {1,2} {1,3} {2,3}* {0,1,2} {0,1,3} \
        {0,2,3} {1,2,3} {0,1,2,3}
    C 1-15,17-31 - 10 no {0,1}* {0,2}* {0,3}* {1,2}* {1,3}* {2,3}* {0,1,2} {0,1,3} {0,2,3} \
        {1,2,3} {0,1,2,3}
    C 1-15,17-31 - 10 yes {0,1}* {0,2}* {0,3}* {1,2}* {1,3}* {2,3}* {0,1,2} {0,1,3} {0,2,3} \
        {1,2,3} {0,1,2,3}
    C 0,4,8,12 - 3 no {0,1,2} {0,1,3} {0,2,3} {1,2,3} {0,1,2,3}
    C 0,4,8,12 - 3 yes {0,1,2} {0,1,3} {0,2,3} {1,2,3} {0,1,2,3}
"""
ROWS = [line.split() for line in EXAMPLES.splitlines()[1:]]


def asked(
    on: MachineInfo, available: str, count: int, reuse: str = "", reach: Reach = Reach.NODES
) -> CpuHintFamily | Impossible:
    sets = hints.node_sets(topology.discover(on), reach)
    return hints.offered(sets, cpu_builders.mask(available), cpu_builders.mask(reuse), count)


def offered(on: MachineInfo, available: str, count: int, reuse: str = "") -> CpuHintFamily:
    family = asked(on, available, count, reuse)
    assert isinstance(family, CpuHintFamily)
    return family


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[:5]))
def test_hints_are_those_of_the_kubelet(row: list[str]) -> None:
    name, available, reuse, count, by_socket, *expected = row
    reach = Reach.SOCKETS if by_socket == "yes" else Reach.NODES
    family = asked(MACHINES[name], available, int(count), reuse.strip("-"), reach)

    if expected:
        assert isinstance(family, CpuHintFamily)
        assert expected == cpu_builders.masks(family.hints())
    else:
        free = len(cpu_builders.cpus(available)) + len(cpu_builders.cpus(reuse.strip("-")))
        assert Impossible(NoNodesFit(int(count), free)) == family


def test_reserved_cpus_count_for_what_is_preferred() -> None:
    family = offered(MACHINES["H"], "1-5,7-11", 6)

    assert cpu_builders.masks(family.hints()) == ["{1}*", "{0,1}"]


def test_a_request_larger_than_the_machine_makes_the_whole_machine_preferred() -> None:
    sets = hints.node_sets(topology.discover(MACHINES["C"]), Reach.NODES)

    assert sets.preferred_size(33) == 4


def test_sockets_prefer_nothing_where_a_node_holds_several_sockets() -> None:
    two_sockets_per_node = cpu_builders.machine(
        [(0, (0,), None), (1, (1,), None)], [(2, (2,), None), (3, (3,), None)]
    )
    family = asked(two_sockets_per_node, "0-3", 1, reach=Reach.SOCKETS)

    assert isinstance(family, CpuHintFamily)
    assert cpu_builders.masks(family.hints()) == ["{0}*", "{1}*", "{0,1}"]


def test_a_set_that_is_offered_has_no_reason_against_it() -> None:
    assert offered(MACHINES["H"], "0-2,6-8", 3).why_not(0b01) is None


def test_a_set_with_too_few_free_cpus_says_how_many_there_are() -> None:
    family = offered(MACHINES["H"], "0-5", 4, reuse="6")
    single_node = offered(MACHINES["H"], "1-5", 4, reuse="6")

    assert family.why_not(0b01) is None
    assert TooFewCpusOnNodes(0b01, 4, 3) == single_node.why_not(0b01)


def test_a_set_that_lacks_a_node_of_the_pods_own_cpus_is_not_offered() -> None:
    family = offered(MACHINES["H"], "0-5", 3, reuse="6")

    assert ReuseElsewhere(0b10, 0b01) == family.why_not(0b10)
    assert cpu_builders.masks(family.hints()) == ["{0}*", "{0,1}"]


def test_nodes_without_cpus_are_in_no_set() -> None:
    family = offered(cpu_builders.machine([(0, (0, 1), None)], []), "0-1", 1)

    assert cpu_builders.masks(family.hints()) == ["{0}*"]
    assert NoCpusOnNodes(0b11, 0b10) == family.why_not(0b11)
    assert NoCpusOnNodes(0, 0) == family.why_not(0)


def test_the_hints_of_more_nodes_than_a_kubelet_can_try_are_those_of_the_rule() -> None:
    machine = cpu_builders.machine(*[[(node, (node,), None)] for node in range(13)])
    family = offered(machine, "0-12", 12)

    every = [((each.mask or 0).bit_count(), each.preferred) for each in family.hints()]
    assert every == [(12, True)] * 13 + [(13, False)]
