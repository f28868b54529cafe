"""The hardware of a guest: NUMA nodes with their memory and CPUs, packages, distances.

Guests number their nodes and CPUs from 0 without gaps, and the nodes in the order of their first
CPU, those without CPUs at the end. CPUs are numbered package by package, die by die, core by core,
with consecutive threads of a core; a CPU may be in any node.

With a die of one core without threads Linux forgets that it shares its package with others, so
topologies have no such dies if a package has several nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from numalet.core.model.cpu_set import EMPTY, CpuSet
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
