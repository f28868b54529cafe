"""Named topologies, each for a common kind of machine.

Unlike in shape names such as ``2n16c2t``, the number of CPUs is the total: ``4n8c`` has eight.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.lab.topology import CpuLayout, Distances, GuestNode, Topology

_HOME: Final = 10


def named(name: str) -> Topology:
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

TOPOLOGIES: Final[Mapping[str, Topology]] = MappingProxyType({each.name: each for each in _ALL})
