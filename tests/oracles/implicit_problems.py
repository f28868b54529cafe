"""Random answers of the three managers, for comparing the merge by rule with the merge by lists.

Families come from the managers' own code, on machines that are put together freely: groups of
nodes in use (broken ones too), memory to be used again, nodes without CPUs, devices of several
nodes, CPUs and devices to be used again, sockets that count, and explicit lists among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from numalet.core.hints.filtering import Offer, Ruled
from numalet.core.hints.fitness import Distances
from numalet.core.hints.provider import (
    Candidates,
    Hint,
    HintFamily,
    Impossible,
    NoPreference,
    NotListed,
    ProviderHints,
)
from numalet.core.managers.cpu import hints as cpu_hints
from numalet.core.managers.cpu import topology
from numalet.core.managers.cpu.take_packed import Reach
from numalet.core.managers.device.hints import TouchedSets
from numalet.core.managers.device.inventory import Device, KnownDevices
from numalet.core.managers.memory import hints
from numalet.core.managers.memory.hints import MemoryHintFamily
from numalet.core.managers.memory.ledger import (
    MemoryLedger,
    MemoryTable,
    NodeMemory,
    ReusableMemory,
)
from numalet.core.model import numa_mask
from values import cpu_builders

TYPES = ("hugepages-1Gi", "memory")


@dataclass(frozen=True)
class _OnNodes:
    """On how many nodes, and the distances if they count."""

    nodes: int
    distances: Distances | None

    @property
    def all_nodes(self) -> int:
        return (1 << self.nodes) - 1


@dataclass(frozen=True)
class Problem(_OnNodes):
    """What is offered to the merge."""

    offers: tuple[Offer, ...]


@st.composite
def problems(draw: st.DrawFn, fewest_nodes: int = 1, most_nodes: int = 6) -> Problem:
    """One to four families and at most one explicit list."""
    nodes = draw(st.integers(fewest_nodes, most_nodes))
    families: list[HintFamily] = []
    kinds = draw(st.sampled_from(["m", "mc", "mcd", "mcdd", "mm", "mmc", "mmcd", "c", "cd", "d"]))
    if "m" in kinds:
        offered = draw(memory(nodes, TYPES[: kinds.count("m")]))
        families += [offered] * kinds.count("m")
    if "c" in kinds:
        families.append(draw(cpus(nodes)))
    families += [draw(devices(nodes)) for _ in range(kinds.count("d"))]
    offers: list[Offer] = [_offer(family) for family in families if _offers_any(family)]
    if draw(st.integers(0, 3)) == 0:
        offers.insert(draw(st.integers(0, len(offers))), draw(explicit(nodes)))
    return Problem(nodes, draw(st.none() | distances(nodes)), tuple(offers))


@dataclass(frozen=True)
class Answers(_OnNodes):
    """What providers answer."""

    answers: tuple[ProviderHints, ...]


@st.composite
def answers(draw: st.DrawFn, most_nodes: int) -> Answers:
    """Families, lists, no preference and what is impossible; a list may name a foreign node."""
    nodes = draw(st.integers(1, most_nodes))
    one = st.one_of(
        memory(nodes, TYPES[:1]),
        memory(nodes, TYPES[:1]),
        cpus(nodes),
        cpus(nodes),
        devices(nodes),
        devices(nodes),
        st.just(NoPreference()),
        st.just(Impossible(NotListed(1))) if draw(st.integers(0, 5)) == 0 else st.nothing(),
        explicit(nodes + 1).map(lambda hints: Candidates(tuple(hints)))
        if draw(st.integers(0, 5)) == 0
        else st.nothing(),
    )
    answer = st.dictionaries(st.sampled_from("abc"), one, max_size=2) | one.map(
        lambda both: dict.fromkeys("ab", both)
    )
    return Answers(
        nodes,
        draw(st.none() | distances(nodes)),
        tuple(draw(st.lists(answer, max_size=3))),
    )


def _offers_any(family: HintFamily) -> bool:
    return bool(family.hints())


def _offer(family: Any) -> Offer:
    """By rule, on few nodes too, where the merge gets a list otherwise."""
    return Ruled(family.as_rule, family)


def explicit(nodes: int) -> st.SearchStrategy[Sequence[Hint]]:
    """A list of some other provider: any node, or some sets."""
    mask = st.none() | st.integers(1, 2**nodes - 1)
    return st.lists(st.builds(Hint, mask, st.booleans()), min_size=1, max_size=4).map(tuple)


@st.composite
def distances(draw: st.DrawFn, nodes: int) -> Distances:
    """By levels, or anything at all."""
    if draw(st.booleans()):
        board = draw(st.integers(1, 3))
        return Distances(
            {
                i: {
                    j: 10 if i == j else 12 if i // board == j // board else 32
                    for j in range(nodes)
                }
                for i in range(nodes)
            }
        )
    far = st.integers(10, 14)
    rows = [draw(st.lists(far, min_size=nodes, max_size=nodes)) for _ in range(nodes)]
    return Distances({i: dict(enumerate(row)) for i, row in enumerate(rows)})


@st.composite
def memory(draw: st.DrawFn, nodes: int, types: Sequence[str]) -> MemoryHintFamily:
    """A demand on a node map whose nodes are unused, or in use alone or in groups."""
    groups = draw(st.lists(st.integers(0, nodes), min_size=nodes, max_size=nodes))
    most = draw(st.sampled_from([1, 3, 9]))
    tables = [
        {name: draw(_table(most, full=draw(st.integers(0, 3)) == 0)) for name in types}
        for _ in range(nodes)
    ]
    node_map = {}
    for i in range(nodes):
        is_used = groups[i] > nodes // 2
        cell = [j for j in range(nodes) if groups[j] == groups[i]] if is_used else [i]
        if draw(st.integers(0, 20)) == 0:  # broken by an allocation to one node of a group
            cell = [i]
        node_map[i] = NodeMemory(int(is_used), tables[i], numa_mask.of(cell))
    demand = {name: _asked(draw, [each[name].free for each in tables]) for name in types}
    reusable = {}
    if draw(st.integers(0, 3)) == 0:
        mask = draw(st.sampled_from(sorted({node.group for node in node_map.values()})))
        reusable = {(mask, draw(st.sampled_from(types))): draw(st.integers(1, 4))}
    return hints.family(MemoryLedger(node_map, {}, ReusableMemory("u", reusable)), "u", demand)


@st.composite
def _table(draw: st.DrawFn, most: int, full: bool) -> MemoryTable:
    allocatable = draw(st.integers(0, most))
    free = 0 if full else draw(st.integers(0, allocatable))
    return MemoryTable(allocatable, 0, allocatable, allocatable - free, free)


def _asked(draw: st.DrawFn, free: Sequence[int]) -> int:
    """Up to all that is free; more would only be offered nowhere."""
    return draw(st.integers(0, sum(free)))


@st.composite
def cpus(draw: st.DrawFn, nodes: int) -> HintFamily:
    """A number of CPUs on a machine where some nodes have none."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=nodes, max_size=nodes))
    if not any(sizes):
        sizes[0] = 1
    per_socket = draw(st.integers(1, nodes))
    threads = iter(range(sum(sizes)))
    machine = cpu_builders.machine(
        *[
            [(at // per_socket, (next(threads),), None) for _ in range(n)]
            for at, n in enumerate(sizes)
        ]
    )
    total = sum(sizes)
    available = draw(st.integers(0, 2**total - 1))
    reusable = draw(st.sampled_from([0, 0, 0, 1 << draw(st.integers(0, total - 1))]))
    reach = draw(st.sampled_from(Reach))
    usable = (available | reusable).bit_count()
    count = draw(st.integers(1, max(1, usable)))
    sets = cpu_hints.node_sets(topology.discover(machine), reach)
    offered = cpu_hints.offered(sets, available & ~reusable, reusable, count)
    if isinstance(offered, cpu_hints.CpuHintFamily):
        return offered
    return cpu_hints.CpuHintFamily(sets, 1, dict.fromkeys(sets.topology.node_ids, 1), 0, 0)


@st.composite
def devices(draw: st.DrawFn, nodes: int) -> HintFamily:
    """A number of devices; some are attached to several nodes, some to none the machine has."""
    node = st.integers(0, nodes)
    places = draw(st.lists(st.lists(node, max_size=3, unique=True), min_size=1, max_size=6))
    places.append([draw(st.integers(0, nodes - 1))])
    known = {f"d{at}": Device(f"d{at}", tuple(each)) for at, each in enumerate(places)}
    usable = frozenset(name for name in known if draw(st.integers(0, 3)))
    reused = frozenset(
        {draw(st.sampled_from(sorted(known)))} if draw(st.integers(0, 4)) == 0 else ()
    )
    requested = draw(st.integers(0, max(1, len(usable | reused))))
    return TouchedSets("gpu", requested, KnownDevices(known), usable, reused, (1 << nodes) - 1)


def of_machine(weights: Mapping[int, int]) -> MemoryLedger:
    """A node map of unused nodes with one memory type, so much free on each."""
    return MemoryLedger(
        {
            i: NodeMemory(0, {"memory": MemoryTable(size, 0, size, 0, size)}, 1 << i)
            for i, size in weights.items()
        },
        {},
    )
