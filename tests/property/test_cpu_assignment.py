"""Both assignments equal a plain restatement of their rules.

All machines of up to 8 CPUs are covered completely: every free set, every request. On two
sockets of four cores with two threads, and on NUMA nodes inside sockets, every core is free, in
use, or free with one of its threads, in every mixture, cores of a node in one order only, of
which every run tries one in seven and ``make thorough`` all; the rest, and machines with up to
eight nodes, is sampled.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import thoroughness
from numalet.core.managers.cpu import (
    cpu_mask,
    free_cpus,
    take_distributed,
    take_packed,
    topology,
)
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.reasons import AccountingError, TooFewCpus, Unpickable, WouldHang
from numalet.core.managers.cpu.take_distributed import copied, overwritten
from numalet.core.managers.cpu.take_packed import Packing
from numalet.core.managers.cpu.topology import CpuTopology
from oracles import cpu_assignment_by_rules as by_rules
from values import cpu_builders

pytestmark = pytest.mark.property

Shape = tuple[int, int, int, int, int | None]
"""Sockets, NUMA nodes, cores per node, threads per core, cores per cache."""

STYLES = {
    "plain": Packing.PLAIN,
    "spread": Packing.SPREAD_OVER_CORES,
    "cache": Packing.BY_UNCORE_CACHE,
}
SMALL: list[Shape] = [
    (sockets, nodes, cores, threads, 2 if cores > 2 else None)
    for sockets, nodes, cores, threads in product((1, 2), (1, 2, 4), (1, 2, 3, 4), (1, 2))
    if nodes % sockets == 0 and nodes * cores * threads <= 8
]
LARGE: list[Shape] = [(2, 2, 4, 2, 2), (2, 4, 2, 2, None), (1, 2, 4, 2, 2)]


@cache
def machine(shape: Shape) -> tuple[CpuTopology, by_rules.Rules]:
    info = cpu_builders.shape(*shape)
    return topology.discover(info), by_rules.rules_of(info)


def plainly(result: CpuMask | Unpickable) -> by_rules.Result:
    match result:
        case TooFewCpus():
            return by_rules.TOO_FEW
        case WouldHang():
            return by_rules.HANG
        case AccountingError():
            return by_rules.SHORT
        case taken:
            return cpu_mask.to_set(taken)


def compare(shape: Shape, free: Iterable[int], count: int) -> None:
    """Both assignments, in all their variants, for one request."""
    real, rules = machine(shape)
    mask = cpu_mask.of(free)
    cpus = cpu_mask.to_set(mask)
    request = f"{count} of {cpu_builders.text(mask)} on {shape}"
    for style, packing in STYLES.items():
        expected = by_rules.packed(rules, cpus, count, style)
        assert expected == plainly(take_packed.take(real, mask, count, packing)), (style, request)
    for group in {1, shape[3]}:
        for storage in (overwritten, copied):
            expected = by_rules.distributed(
                rules, cpus, count, group, shared=storage is overwritten
            )
            actual = plainly(take_distributed.take(real, mask, count, group, storage))
            assert expected == actual, (group, storage.__name__, request)


def mixtures(shape: Shape) -> Iterator[list[int]]:
    """Free sets: per core no thread, the first, or both; inside a node in one order."""
    _, nodes, cores, _, _ = shape
    of_node = list(combinations_with_replacement((0, 1, 2), cores))
    for states in product(of_node, repeat=nodes):
        flat = [state for node in states for state in node]
        yield [core for core, state in enumerate(flat) if state] + [
            core + nodes * cores for core, state in enumerate(flat) if state == 2
        ]


STEP = 7
"""Neighbours differ in a single core; seven divides no count of a node's mixtures, which are 6 or
15, so every mixture of every node is tried."""


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_on_small_machines_every_assignment_equals_its_rules(shape: Shape) -> None:
    cpu_count = shape[1] * shape[2] * shape[3]
    for mask in range(2**cpu_count):
        for count in range(mask.bit_count() + 2):
            compare(shape, cpu_mask.ids(mask), count)


@pytest.mark.slow
@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_on_sixteen_cpus_mixtures_of_cores_equal_their_rules(shape: Shape) -> None:
    for free in itertools.islice(mixtures(shape), None, None, thoroughness.of(STEP, 1)):
        for count in range(1, len(free) + 1):
            compare(shape, free, count)


@st.composite
def requests(draw: st.DrawFn, shapes: list[Shape]) -> tuple[Shape, list[int], int]:
    shape = draw(st.sampled_from(shapes))
    cpus = list(range(shape[1] * shape[2] * shape[3]))
    free = [cpu for cpu in cpus if draw(st.integers(0, 3))]
    return shape, free, draw(st.integers(0, len(free) + 1))


@given(requests(LARGE))
def test_on_sixteen_cpus_any_assignment_equals_its_rules(
    request: tuple[Shape, list[int], int],
) -> None:
    compare(*request)


@given(requests([(2, 6, 2, 2, None), (2, 6, 3, 1, 2), (2, 8, 2, 2, 2), (4, 8, 3, 1, None)]))
def test_on_many_nodes_any_assignment_equals_its_rules(
    request: tuple[Shape, list[int], int],
) -> None:
    compare(*request)


@st.composite
def odd_machines(draw: st.DrawFn) -> tuple[list[list[cpu_builders.Core]], list[int], int]:
    """Cores of unequal size, sockets and caches over several nodes, as no machine has them."""
    cpu = 0
    nodes: list[list[cpu_builders.Core]] = []
    for _ in range(draw(st.integers(1, 4))):
        cores: list[cpu_builders.Core] = []
        for _ in range(draw(st.integers(0, 4))):
            threads = draw(st.integers(1, 3))
            socket, cache = draw(st.integers(0, 2)), draw(st.integers(0, 3))
            cores.append((socket, tuple(range(cpu, cpu + threads)), cache))
            cpu += threads
        nodes.append(cores)
    nodes[0].append((0, (cpu,), None))
    free = [each for each in range(cpu + 1) if draw(st.integers(0, 4))]
    return nodes, free, draw(st.integers(0, len(free)))


@given(odd_machines(), st.sampled_from((1, 2)))
def test_on_odd_machines_too(
    request: tuple[list[list[cpu_builders.Core]], list[int], int], group: int
) -> None:
    nodes, free, count = request
    info = cpu_builders.machine(*nodes)
    real, rules, mask = topology.discover(info), by_rules.rules_of(info), cpu_mask.of(free)

    for style, packing in STYLES.items():
        expected = by_rules.packed(rules, free, count, style)
        assert expected == plainly(take_packed.take(real, mask, count, packing)), style
    assert by_rules.distributed(rules, free, count, group) == plainly(
        take_distributed.take(real, mask, count, group)
    )


@st.composite
def tangled_machines(draw: st.DrawFn) -> tuple[list[list[cpu_builders.Core]], list[int]]:
    """Threads in any order; a CPU that is listed twice tears a core in two, or ends it."""
    threads = st.sets(st.integers(0, 11), min_size=1, max_size=4).map(lambda cpus: (*cpus,))
    core: st.SearchStrategy[cpu_builders.Core] = st.tuples(st.integers(0, 2), threads, st.none())
    nodes = draw(st.lists(st.lists(core, max_size=4), min_size=1, max_size=4))
    cpus = {cpu for cores in nodes for _, threads, _ in cores for cpu in threads}
    return nodes, [each for each in sorted(cpus) if draw(st.integers(0, 4))]


@given(tangled_machines())
def test_cores_are_listed_as_the_rules_list_them_on_tangled_machines(
    given_machine: tuple[list[list[cpu_builders.Core]], list[int]],
) -> None:
    nodes, cpus = given_machine
    info = cpu_builders.machine(*nodes)
    real, rules, free = topology.discover(info), by_rules.rules_of(info), cpu_mask.of(cpus)

    expected = rules.cores({*cpus})
    assert [*free_cpus.cores(real, free)] == [real.cores[core] for core in expected]
    for size in range(6):
        whole = [each for each in expected if (real.cores[each] & free).bit_count() == size]
        assert [*free_cpus.whole_cores(real, free, size)] == [real.cores[each] for each in whole]
