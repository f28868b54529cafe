"""The machine for the CPU Manager: NUMA nodes, sockets, cores and caches as CPU masks.

*Core id*: the smallest CPU number on the core, because core numbers repeat between sockets.
*Uncore cache*: a cache of level 3 or more that serves part of a NUMA node. A core without one
belongs to a cache with its socket's number. *Per core*, *per socket*, *per cache* are
averages, rounded down, even if cores or sockets differ in size.

Kubelet: ``topology.Discover``, ``CPUTopology``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.value import Value


class TopologyPart(NamedTuple):
    """A NUMA node, socket, core or cache, listed inside a larger part or the machine.

    ``cpus`` are all its CPUs; ``here`` only those inside the larger part: a cache may span several
    NUMA nodes.
    """

    part_id: int
    cpus: CpuMask
    here: CpuMask


Parts = tuple[TopologyPart, ...]
Inside = Mapping[int, Parts]
"""By id of the larger part: the parts in it, by ascending id."""


class CoreLayout(NamedTuple):
    """Cores whose CPUs have the same offsets from the core id.

    ``core_ids`` is a mask. ``offsets`` has one entry for each CPU of a core, ascending.
    """

    core_ids: CpuMask
    offsets: tuple[int, ...]


class CpuTopology(Value, dict=True):
    """The topology of one machine. Made by ``discover``.

    ``numa_first`` machines have at least as many sockets as NUMA nodes, so that a node holds
    sockets; on the others a socket holds NUMA nodes.
    """

    cpus: CpuMask
    nodes: Parts
    sockets: Parts
    cores: Mapping[int, CpuMask]
    nodes_of_socket: Inside
    sockets_of_node: Inside
    uncores_of_node: Inside
    cores_of_uncore: Inside
    core_of_cpu: Mapping[int, CpuMask]
    core_layouts: tuple[CoreLayout, ...]
    socket_count: int
    cpus_per_core: int
    cpus_per_socket: int
    cpus_per_uncore: int

    @cached_property
    def smallest_unit(self) -> int:
        """A lower bound of the CPUs of a NUMA node and of a whole socket."""
        return min([self.cpus_per_socket, *(node.cpus.bit_count() for node in self.nodes)])

    @cached_property
    def largest_core_size(self) -> int:
        return max((len(layout.offsets) for layout in self.core_layouts), default=0)

    @cached_property
    def numa_first(self) -> bool:
        return self.socket_count >= len(self.nodes)

    @property
    def nodes_per_socket(self) -> int:
        return _average(len(self.nodes), self.socket_count)

    @property
    def node_ids(self) -> tuple[int, ...]:
        return tuple(node.part_id for node in self.nodes)


class _Place(NamedTuple):
    node: int
    socket: int
    core: int
    uncore: int


def discover(machine: MachineInfo) -> CpuTopology:
    places: dict[int, _Place] = {}
    core_count = 0
    for node in machine.nodes:
        for core in node.cores:
            core_count += 1
            uncore = core.socket_id if core.uncore_cache_id is None else core.uncore_cache_id
            # Kernel core ids repeat between sockets, so the kubelet identifies a core by its lowest
            # CPU (``getUniqueCoreID``).
            place = _Place(node.node_id, core.socket_id, min(core.threads), uncore)
            places.update(dict.fromkeys(core.threads, place))
    return _topology(places, core_count, machine.socket_count)


def _topology(places: Mapping[int, _Place], core_count: int, socket_count: int) -> CpuTopology:
    nodes = _masks((place.node, cpu) for cpu, place in places.items())
    sockets = _masks((place.socket, cpu) for cpu, place in places.items())
    cores = _masks((place.core, cpu) for cpu, place in places.items())
    uncores = _masks((place.uncore, cpu) for cpu, place in places.items())
    return CpuTopology(
        cpus=cpu_mask.of(places),
        nodes=_parts(nodes),
        sockets=_parts(sockets),
        cores=cores,
        nodes_of_socket=_inside(sockets, nodes),
        sockets_of_node=_inside(nodes, sockets),
        uncores_of_node=_inside(nodes, uncores),
        cores_of_uncore=_inside(uncores, cores),
        core_of_cpu={cpu: cores[place.core] for cpu, place in places.items()},
        core_layouts=_layouts(cores),
        socket_count=socket_count,
        cpus_per_core=_average(len(places), core_count),
        cpus_per_socket=_average(len(places), socket_count),
        cpus_per_uncore=_average(len(places), len(uncores)),
    )


def _average(cpus: int, parts: int) -> int:
    return cpus // parts if parts else 0


def _masks(members: Iterable[tuple[int, int]]) -> dict[int, CpuMask]:
    masks: dict[int, CpuMask] = {}
    for part_id, cpu in members:
        masks[part_id] = masks.get(part_id, 0) | 1 << cpu
    return dict(sorted(masks.items()))


def _layouts(cores: Mapping[int, CpuMask]) -> tuple[CoreLayout, ...]:
    # The core id is its smallest CPU, so shifting by it loses no CPU.
    core_ids = _masks((cpus >> core, core) for core, cpus in cores.items())
    return tuple(CoreLayout(ids, tuple(cpu_mask.ids(at))) for at, ids in core_ids.items())


def _parts(masks: Mapping[int, CpuMask]) -> Parts:
    return tuple(TopologyPart(part_id, cpus, cpus) for part_id, cpus in masks.items())


def _inside(outer: Mapping[int, CpuMask], inner: Mapping[int, CpuMask]) -> Inside:
    return {
        outer_id: tuple(
            TopologyPart(part_id, cpus, cpus & limits)
            for part_id, cpus in inner.items()
            if cpus & limits
        )
        for outer_id, limits in outer.items()
    }
