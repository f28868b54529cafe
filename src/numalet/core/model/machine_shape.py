"""Shape names: ``2n16c2t`` is a machine of 2 NUMA nodes with 16 cores each and 2 threads a core.

The grammar is ``[<sockets>s]<nodes>n<cores>c[<threads>t]``: nodes in total, cores per node, threads
per core (default 1). Without sockets every node is a socket. The machine is symmetric, with the CPU
numbers of an x86 kernel: the first threads of all cores, node by node, then the second threads.
Distances are 10 to the node itself, 12 inside a socket, and 20 elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from numalet.core.model.findings import NOWHERE, BadInput, Finding, Location
from numalet.core.model.machine import Cpu, HugePagePool, Machine, NumaNode
from numalet.core.model.value import Value


class MachineShapeFinding(Finding):
    sentence = (
        "invalid shape {value!r}; expected [SOCKETSs]NODESnCORESc[THREADSt], such as 2n16c2t (2 "
        "NUMA nodes, 16 cores each, 2 threads a core) or 2s4n8c2t (the same on 2 sockets with 4 "
        "nodes in total)"
    )
    value: str


class MachineShapeZero(Finding):
    sentence = "invalid shape {value!r}: every number must be 1 or more"
    value: str


class MachineShapeUneven(Finding):
    sentence = (
        "{value!r} has {nodes} nodes on {sockets} sockets; the sockets must share the nodes evenly"
    )
    value: str
    nodes: int
    sockets: int


class MachineShapeTooLarge(Finding):
    sentence = (
        "shape {value!r} is too large; the maximum is {most_nodes} nodes and {most_cpus} CPUs"
    )
    value: str
    most_nodes: int
    most_cpus: int


MOST_NODES: Final = 1024
MOST_CPUS: Final = 8192

_SHAPE = re.compile(
    r"(?:(?P<sockets>[0-9]{1,4})s)?(?P<nodes>[0-9]{1,4})n(?P<cores>[0-9]{1,4})c"
    r"(?:(?P<threads>[0-9]{1,4})t)?",
    re.ASCII,
)
_SHAPE_PATTERN = re.compile(r"(?:[0-9]+[a-z]){1,5}", re.ASCII)
_HOME: Final = 10
_SAME_SOCKET: Final = 12
_ELSEWHERE: Final = 20


class MachineShape(Value):
    sockets: int
    nodes: int
    cores_per_node: int
    threads_per_core: int = 1

    @property
    def nodes_per_socket(self) -> int:
        return self.nodes // self.sockets


def resembles_shape(text: str) -> bool:
    """Return whether the text resembles a shape, valid or not."""
    return _SHAPE_PATTERN.fullmatch(text) is not None


def parse_shape(text: str, where: Location = NOWHERE) -> MachineShape:
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise BadInput([MachineShapeFinding(value=text, where=where)])
    nodes = int(match["nodes"])
    shape = MachineShape(
        sockets=nodes if match["sockets"] is None else int(match["sockets"]),
        nodes=nodes,
        cores_per_node=int(match["cores"]),
        threads_per_core=int(match["threads"] or 1),
    )
    cpu_count = shape.nodes * shape.cores_per_node * shape.threads_per_core
    if not cpu_count or not shape.sockets:
        raise BadInput([MachineShapeZero(value=text, where=where)])
    if shape.nodes % shape.sockets:
        uneven = MachineShapeUneven(
            value=text, nodes=shape.nodes, sockets=shape.sockets, where=where
        )
        raise BadInput([uneven])
    if shape.nodes > MOST_NODES or cpu_count > MOST_CPUS:
        too_large = MachineShapeTooLarge(
            value=text, most_nodes=MOST_NODES, most_cpus=MOST_CPUS, where=where
        )
        raise BadInput([too_large])
    return shape


def machine_of_shape(
    shape: MachineShape, memory_per_node_bytes: int, pages_per_node: Mapping[int, int], source: str
) -> Machine:
    """Return a symmetric machine of this shape.

    ``pages_per_node`` is the number of huge pages of every node by page size in KiB.
    """
    # Directory order: node0, node1, node10, node2.
    numbers = sorted(range(shape.nodes), key=str)
    pools = tuple(
        HugePagePool(size, pages_per_node[size], pages_per_node[size])
        for size in sorted(pages_per_node, key=str)
    )
    return Machine(
        nodes=tuple(_node(shape, number, memory_per_node_bytes, pools) for number in numbers),
        cpus=_cpus(shape),
        hugepages=tuple(
            HugePagePool(pool.page_size_kib, (pool.count or 0) * shape.nodes) for pool in pools
        ),
        source=source,
    )


def _node(
    shape: MachineShape, number: int, memory_bytes: int, pools: tuple[HugePagePool, ...]
) -> NumaNode:
    first = number * shape.cores_per_node
    cores = shape.nodes * shape.cores_per_node
    cpus = frozenset(
        thread * cores + core
        for thread in range(shape.threads_per_core)
        for core in range(first, first + shape.cores_per_node)
    )
    return NumaNode(
        node_id=number,
        memory_bytes=memory_bytes,
        cpus=cpus,
        linked_cpus=cpus,
        hugepages=pools,
        distances=tuple(_distance(shape, number, other) for other in range(shape.nodes)),
    )


def _distance(shape: MachineShape, one: int, other: int) -> int:
    if one == other:
        return _HOME
    same_socket = one // shape.nodes_per_socket == other // shape.nodes_per_socket
    return _SAME_SOCKET if same_socket else _ELSEWHERE


def _cpus(shape: MachineShape) -> tuple[Cpu, ...]:
    cores = shape.nodes * shape.cores_per_node
    cores_per_socket = shape.nodes_per_socket * shape.cores_per_node
    threads = range(shape.threads_per_core)
    siblings = [frozenset(thread * cores + core for thread in threads) for core in range(cores)]
    packages = [
        frozenset(
            thread * cores + core
            for thread in threads
            for core in range(socket * cores_per_socket, (socket + 1) * cores_per_socket)
        )
        for socket in range(shape.sockets)
    ]
    return tuple(
        Cpu(
            cpu_id=cpu_id,
            package_id=cpu_id % cores // cores_per_socket,
            core_id=cpu_id % cores % cores_per_socket,
            thread_siblings=siblings[cpu_id % cores],
            package_siblings=packages[cpu_id % cores // cores_per_socket],
        )
        for cpu_id in range(cores * shape.threads_per_core)
    )
