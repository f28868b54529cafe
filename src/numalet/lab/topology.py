"""The hardware of a guest: NUMA nodes with their memory and CPUs, packages, distances.

Guests number their nodes and CPUs from 0 without gaps, and the nodes in the order of their first
CPU, those without CPUs at the end. CPUs are numbered package by package, die by die, core by core,
with consecutive threads of a core; a CPU may be in any node.

With a die of one core without threads Linux forgets that it shares its package with others, so
topologies have no such dies if a package has several nodes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

from numalet.core.model import input_error
from numalet.core.model.cpu_set import EMPTY, CpuSet
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.go_text import QuantityError
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value, replace

MOST_NODES: Final = 128
MOST_CPUS: Final = 255
LEAST_MEMORY_MIB: Final = 32

Distances = tuple[tuple[int, ...], ...]

_T = TypeVar("_T")


class GuestNode(Value):
    memory_mib: int
    cpus: CpuSet = EMPTY


class CpuLayout(Value):
    """Packages, dies in each, cores in each die, threads in each core."""

    packages: int
    dies: int = 1
    cores: int = 1
    threads: int = 1

    @property
    def cpu_count(self) -> int:
        return self.packages * self.dies * self.cores * self.threads


class Topology(Value, kw_only=True):
    """A whole machine. ``distances`` has a row per node, unless the firmware has no table."""

    name: str
    summary: str
    nodes: tuple[GuestNode, ...]
    layout: CpuLayout
    distances: Distances | None = None

    @property
    def memory_mib(self) -> int:
        return sum(node.memory_mib for node in self.nodes)

    @property
    def cpu_count(self) -> int:
        return sum(len(node.cpus) for node in self.nodes)


def with_memory(topology: Topology, node_id: int, memory_mib: int) -> Topology:
    """Return the topology with other memory in one node, like an added or failed memory module."""
    nodes = tuple(
        replace(node, memory_mib=memory_mib) if index == node_id else node
        for index, node in enumerate(topology.nodes)
    )
    return replace(topology, nodes=nodes)


def without_node(topology: Topology, node_id: int) -> Topology:
    """Return the topology without one node; the nodes after it get lower numbers."""
    left = tuple(node for index, node in enumerate(topology.nodes) if index != node_id)
    number = {old: new for new, old in enumerate(sorted(cpu for n in left for cpu in n.cpus))}
    return replace(
        topology,
        nodes=tuple(replace(n, cpus=frozenset(number[cpu] for cpu in n.cpus)) for n in left),
        layout=_smaller(topology.layout, len(number)),
        distances=_without(topology.distances, node_id),
    )


def _smaller(layout: CpuLayout, cpu_count: int) -> CpuLayout:
    """Return the layout with fewer whole packages; a package per CPU if the number does not fit."""
    per_package = layout.dies * layout.cores * layout.threads
    packages, rest = divmod(cpu_count, per_package)
    return CpuLayout(cpu_count) if rest else replace(layout, packages=packages)


def _without(distances: Distances | None, node_id: int) -> Distances | None:
    if distances is None:
        return None
    return tuple(_less(row, node_id) for row in _less(distances, node_id))


def _less(row: Iterable[_T], place: int) -> tuple[_T, ...]:
    return tuple(each for index, each in enumerate(row) if index != place)


_MEMORY_FLAG: Final = "--node-memory"
_WITHOUT_FLAG: Final = "--without-node"
_MIB: Final = 1 << 20


def changed_topology(topology: Topology, memories: Sequence[str], gone: Sequence[int]) -> Topology:
    """Apply ``NODE=SIZE`` to the topology, then remove the nodes in ``gone``.

    Node numbers are those of the original topology. Raises ``BadInput``.
    """
    for text in memories:
        node, size_bytes = _memory(text)
        _refuse_unknown(topology, node, _MEMORY_FLAG)
        mib = size_bytes // _MIB
        if 0 < mib < LEAST_MEMORY_MIB or (size_bytes and not mib):
            raise input_error.Invalid(
                f"node {node} has only {mib} MiB of memory",
                expected=f"0, or {LEAST_MEMORY_MIB} MiB or more",
                where=Location(_MEMORY_FLAG),
            ).bad_input()
        topology = with_memory(topology, node, mib)
    for node in gone:
        _refuse_unknown(topology, node, _WITHOUT_FLAG)
    for node in sorted(set(gone), reverse=True):
        topology = without_node(topology, node)
    if not any(node.cpus and node.memory_mib for node in topology.nodes):
        raise no_usable_node(topology.name)
    return topology


def no_usable_node(source: str) -> BadInput:
    return input_error.Invalid(
        "the guest cannot start: no node has both CPUs and memory", where=Location(source)
    ).bad_input()


def _memory(text: str) -> tuple[int, int]:
    node, equals, size = text.partition("=")
    try:
        if equals and node.isascii() and node.isdigit():
            return int(node), Quantity.parse(size).value
    except QuantityError:
        pass
    raise input_error.Invalid(
        f"invalid node memory {text!r}",
        expected="NODE=SIZE, such as 1=256Mi",
        where=Location(_MEMORY_FLAG),
    ).bad_input()


def _refuse_unknown(topology: Topology, node: int, flag: str) -> None:
    if not 0 <= node < len(topology.nodes):
        last = len(topology.nodes) - 1
        raise input_error.NotFound(
            f"topology {topology.name} has no node {node}",
            expected=f"0 to {last}",
            where=Location(flag),
        ).bad_input()


_HOME: Final = 10


def topology_named(name: str) -> Topology:
    """Return the topology of this name. Raises ``BadInput``, which suggests similar names."""
    if name in TOPOLOGIES:
        return TOPOLOGIES[name]
    begun = [each for each in TOPOLOGIES if name and each.startswith(name)]
    close = difflib.get_close_matches(name, TOPOLOGIES, n=3, cutoff=0.3)
    raise input_error.NotFound(
        f"unknown topology {name!r}; did you mean "
        f"{', '.join(begun or close or TOPOLOGIES)}? 'numalet lab list' shows all",
        where=Location("--topology"),
    ).bad_input()


def _distances(count: int, between: Callable[[int, int], int]) -> Distances:
    numbers = range(count)
    return tuple(
        tuple(_HOME if one == other else between(one, other) for other in numbers)
        for one in numbers
    )


def _even(nodes: int, cpus: int, memory_mib: int) -> tuple[GuestNode, ...]:
    each = cpus // nodes
    return tuple(
        GuestNode(memory_mib, frozenset(range(node * each, (node + 1) * each)))
        for node in range(nodes)
    )


def _packages_of(count: int, near: int, far: int) -> Callable[[int, int], int]:
    """One distance inside groups of ``count`` nodes, another between the groups."""
    return lambda one, other: near if one // count == other // count else far


def _with_far_memory(one: int, other: int) -> int:
    """Nodes 0-1 and 2-3 are packages; node 4 is attached to the first, node 5 to the second."""
    low, high = sorted((one, other))
    if low >= 4:
        return 26
    if high >= 4:
        return 14 if low // 2 == high - 4 else 24
    return 12 if low // 2 == high // 2 else 21


def _tray(one: int, other: int) -> int:
    """Two CPUs and 34 nodes of accelerator memory, the first 17 on the first CPU."""
    low, high = sorted((one, other))
    if high < 2:
        return 40
    if low < 2:
        return 80 if (high - 2) // 17 == low else 120
    return 160


_ALL: Final = (
    Topology(
        name="2n4c",
        summary="the smallest machine where placement matters: two packages",
        nodes=_even(2, 4, 768),
        layout=CpuLayout(packages=2, cores=2),
        distances=_distances(2, lambda one, other: 21),
    ),
    Topology(
        name="2n16c-smt",
        summary="two packages of four cores with two threads each",
        nodes=_even(2, 16, 768),
        layout=CpuLayout(packages=2, cores=4, threads=2),
        distances=_distances(2, lambda one, other: 21),
    ),
    Topology(
        name="4n8c-distances",
        summary="two packages of two nodes each, nearer to each other than to the others",
        nodes=_even(4, 8, 512),
        layout=CpuLayout(packages=2, dies=2, cores=2),
        distances=_distances(4, _packages_of(2, 12, 21)),
    ),
    Topology(
        name="8n8c",
        summary="two packages of four nodes each, as with NPS4",
        nodes=_even(8, 8, 256),
        layout=CpuLayout(packages=2, cores=4),
        distances=_distances(8, _packages_of(4, 12, 32)),
    ),
    Topology(
        name="4n4c+2mem",
        summary="four nodes with CPUs, and two of memory alone at the distance of CXL",
        nodes=(*_even(4, 4, 512), GuestNode(512), GuestNode(512)),
        layout=CpuLayout(packages=2, cores=2),
        distances=_distances(6, _with_far_memory),
    ),
    Topology(
        name="3n4c-1memless",
        summary="three nodes; node 1 has a CPU and no memory",
        nodes=(
            GuestNode(1024, frozenset({0, 1})),
            GuestNode(0, frozenset({2})),
            GuestNode(1024, frozenset({3})),
        ),
        layout=CpuLayout(packages=4),
        distances=_distances(3, lambda one, other: 20),
    ),
    Topology(
        name="36n",
        summary="as a GB200 tray: two nodes with CPUs, 34 of memory alone",
        nodes=(*_even(2, 4, 1024), *(GuestNode(64) for _ in range(34))),
        layout=CpuLayout(packages=2, cores=2),
        distances=_distances(36, _tray),
    ),
    Topology(
        name="64n",
        summary="64 nodes of one CPU each in eight packages",
        # The first node also holds the kernel and its data about 64 nodes and CPUs.
        nodes=(GuestNode(384, frozenset({0})), *_even(64, 64, 64)[1:]),
        layout=CpuLayout(packages=8, cores=8),
        distances=_distances(64, _packages_of(8, 16, 22)),
    ),
)

# Unlike in shape names such as ``2n16c2t``, the number of CPUs is the total: ``4n8c`` has eight.
TOPOLOGIES: Final[Mapping[str, Topology]] = MappingProxyType({each.name: each for each in _ALL})
