"""Machines of 1 to 64 NUMA nodes in three shapes, with the devices on them.

*Even*: two sockets of equal NUMA nodes, a GPU on each, a network card for every two.
*Blades*: four nodes to a blade, and blades joined to a cube, as large shared-memory machines are;
firmware took a little memory here and there, and every eighth node has none. The distances are
those that an SGI Altix of 64 nodes tells.
*Tray*: a few nodes with all the CPUs, and many without any, which are the memory of
accelerators, whole or in parts. The figures are those of Grace Hopper and Grace Blackwell trays.

The same generator of random numbers gives the same machine everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from numalet.core.managers.device.inventory import Device
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo

GIB, MIB = 1 << 30, 1 << 20
GPU, NIC = "example.com/gpu", "example.com/nic"
SMALL_PAGE_KIB, LARGE_PAGE_KIB = 2048, 1048576


@dataclass(frozen=True)
class Shape:
    """A machine, its devices, and what an ordinary node with CPUs has: Gi and CPUs."""

    name: str
    machine: MachineInfo
    devices: Mapping[str, tuple[Device, ...]]
    node_gib: int
    node_cpus: int

    @property
    def node_count(self) -> int:
        """How many NUMA nodes there are."""
        return len(self.machine.nodes)


def even(node_count: int, rng: random.Random | None = None) -> Shape:
    """64Gi, of which 8Gi are pages of 1Gi and 4Gi of 2Mi, and 8 cores of 2 threads per node."""
    nodes = [
        _node(
            node_id,
            64 * GIB,
            8,
            cores=_cores(node_id, 8, threads=2, socket=node_id * 2 // node_count),
            far=[
                10 if to == node_id else 12 if _half(to, node_count, node_id) else 32
                for to in range(node_count)
            ],
        )
        for node_id in range(node_count)
    ]
    gpus = [Device(f"gpu{at:02}", (at,)) for at in range(node_count)]
    return Shape("even", _machine(nodes), {GPU: tuple(gpus), NIC: _cards(node_count)}, 64, 16)


def _half(one: int, node_count: int, other: int) -> bool:
    """Whether two nodes are on the same one of two sockets."""
    return one * 2 // node_count == other * 2 // node_count


def blades(node_count: int, rng: random.Random) -> Shape:
    """Up to 128Gi per node, no two alike, 6 to 8 cores; distances grow with the hops."""
    nodes = []
    for node_id in range(node_count):
        is_bare = node_id % 8 == 7
        size_bytes = 0 if is_bare else 128 * GIB - rng.randrange(1, 3000) * MIB
        nodes.append(
            _node(
                node_id,
                size_bytes,
                0 if is_bare else 8,
                cores=_cores(node_id, rng.randint(6, 8), threads=2, socket=node_id),
                far=[_by_hops(node_id, to) for to in range(node_count)],
            )
        )
    gpus = [Device(f"gpu{at:02}", (at,)) for at in range(node_count) for _ in range(at % 2)]
    gpus = gpus or [Device("gpu00", (0,))]
    return Shape("blades", _machine(nodes), {GPU: tuple(gpus), NIC: _cards(node_count)}, 128, 14)


def _by_hops(one: int, other: int) -> int:
    if one == other:
        return 10
    return 22 + 4 * (one // 4 ^ other // 4).bit_count()


def tray(node_count: int, rng: random.Random) -> Shape:
    """One node of 480Gi and 72 CPUs in nine; the others hold 8 to an accelerator of 184Gi.

    An accelerator is whole, all memory on its first node, or in parts, some on each.
    """
    with_cpus = max(1, node_count // 9)
    in_parts = rng.random() < 0.5
    nodes = []
    for node_id in range(node_count):
        chip = node_id if node_id < with_cpus else (node_id - with_cpus) * with_cpus // node_count
        is_first = (node_id - with_cpus) % 8 == 0
        size_gib = 480 if node_id < with_cpus else 23 if in_parts else 184 if is_first else 0
        cores = _cores(node_id, 72, threads=1, socket=chip) if node_id < with_cpus else ()
        far = [_on_tray(node_id, to, with_cpus) for to in range(node_count)]
        pages = 32 if node_id < with_cpus else 0
        nodes.append(_node(node_id, size_gib * GIB, pages, cores=cores, far=far))
    gpus = [Device(f"gpu{at}-{no}", (at,)) for at in range(with_cpus) for no in range(4)]
    cards = [Device(f"nic{at}-{no}", (at,)) for at in range(with_cpus) for no in range(2)]
    return Shape("tray", _machine(nodes), {GPU: tuple(gpus), NIC: tuple(cards)}, 480, 72)


def _on_tray(one: int, other: int, with_cpus: int) -> int:
    if one == other:
        return 10
    if max(one, other) < with_cpus:
        return 40
    return 80 if min(one, other) < with_cpus else 255


SHAPES: tuple[Callable[[int, random.Random], Shape], ...] = (even, blades, tray)


def any_shape(node_count: int, rng: random.Random) -> Shape:
    """One of the shapes; machines of one or two nodes are even."""
    return even(node_count) if node_count < 3 else rng.choice(SHAPES)(node_count, rng)


def _cards(node_count: int) -> tuple[Device, ...]:
    """A network card for every two nodes, attached to both."""
    return tuple(
        Device(f"nic{at:02}", tuple(range(at, min(at + 2, node_count))))
        for at in range(0, node_count, 2)
    )


def _cores(node_id: int, count: int, threads: int, socket: int) -> tuple[CoreInfo, ...]:
    """Cores whose CPU ids stay below those of the next node; ids are made dense afterwards."""
    first = node_id * 1000
    return tuple(
        CoreInfo(socket, core, tuple(range(first + core * threads, first + (core + 1) * threads)))
        for core in range(count)
    )


def _node(
    node_id: int,
    size_bytes: int,
    large_pages: int,
    *,
    cores: tuple[CoreInfo, ...],
    far: list[int],
) -> NumaNodeInfo:
    pages = (
        HugePages(SMALL_PAGE_KIB, 256 * large_pages),
        HugePages(LARGE_PAGE_KIB, large_pages),
    )
    return NumaNodeInfo(node_id, size_bytes, pages, cores, tuple(far))


def _machine(nodes: list[NumaNodeInfo]) -> MachineInfo:
    dense = _numbered(nodes)
    placed = [
        NumaNodeInfo(
            node.node_id,
            node.memory_bytes,
            node.hugepages,
            tuple(
                CoreInfo(core.socket_id, core.core_id, tuple(dense[cpu] for cpu in core.threads))
                for core in node.cores
            ),
            node.distances,
        )
        for node in nodes
    ]
    sizes = (SMALL_PAGE_KIB, LARGE_PAGE_KIB)
    counts = [sum(node.hugepages[at].count for node in nodes) for at in range(len(sizes))]
    return MachineInfo(
        nodes=tuple(placed),
        memory_capacity_bytes=sum(node.memory_bytes for node in nodes),
        cpu_count=len(dense),
        socket_count=len({core.socket_id for node in nodes for core in node.cores}),
        hugepages=tuple(map(HugePages, sizes, counts)),
    )


def _numbered(nodes: list[NumaNodeInfo]) -> dict[int, int]:
    """CPU ids 0, 1, 2 ... in the order in which the nodes list them."""

    def listed() -> Iterator[int]:
        for node in nodes:
            for core in node.cores:
                yield from core.threads

    return {cpu: number for number, cpu in enumerate(listed())}
