"""Any machine as a guest: its nodes, CPUs, packages and distances, with less memory.

Kept are the nodes with CPUs and with memory, the number of CPUs, shared cores and packages,
distances, and the proportions of memory. A note reports impossible features: numbers with gaps,
offline CPUs, uneven packages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from numalet.core.model import cpu_set, input_error
from numalet.core.model import machine_queries as ask
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding, Location
from numalet.core.model.go_text import QuantityError
from numalet.core.model.machine import Machine, NumaNode
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.lab.topology import CpuLayout, Distances, GuestNode, Topology, no_usable_node

DEFAULT_MEMORY_MIB: Final = 2048
_LEAST_NODE_MIB: Final = 64
_LEAST_FIRST_MIB: Final = 384
"""The first node with memory also holds the kernel and its unpacked files."""

_MIB: Final = 1 << 20
_MOST_MIB: Final = 1 << 32
_HOME: Final = 10
_FARTHEST: Final = 254


class Scaled(Value):
    topology: Topology
    notes: tuple[Finding, ...]


def memory_mib(text: str) -> int:
    """Parse a size such as ``2Gi`` into MiB. Raises ``BadInput``."""
    with suppress(QuantityError):
        mib = Quantity.parse(text).value // _MIB
        if _LEAST_FIRST_MIB <= mib < _MOST_MIB:
            return mib
    raise input_error.Invalid(
        f"invalid guest memory {text!r}",
        expected=f"{_LEAST_FIRST_MIB}Mi or more",
        where=Location("--memory"),
    ).bad_input()


def scaled(machine: Machine, memory_mib: int = DEFAULT_MEMORY_MIB) -> Scaled:
    """Scale the machine to about this much memory. Raises ``BadInput`` without a usable node."""
    # A node without memory and online CPUs does not exist for a guest.
    nodes = tuple(n for n in machine.nodes_by_id if n.memory_bytes or ask.online_part(machine, n))
    if not any(n.memory_bytes and ask.online_part(machine, n) for n in nodes):
        raise no_usable_node(machine.source)
    layout, order = _layout(machine, nodes)
    number = {cpu: place for place, cpu in enumerate(order)}
    nodes = tuple(sorted(nodes, key=lambda node: _rank(machine, node, number)))
    memories = _memories(nodes, memory_mib)
    topology = Topology(
        name=machine.source or "machine",
        summary="",
        nodes=tuple(
            GuestNode(mib, frozenset(number[cpu] for cpu in ask.online_part(machine, node)))
            for node, mib in zip(nodes, memories, strict=True)
        ),
        layout=layout or CpuLayout(len(order)),
        distances=_distances(machine, nodes),
    )
    found = _notes(machine, nodes, topology, order)
    flat = (
        ()
        if layout
        else (
            input_error.Assumed(
                "packages and cores are uneven, so each CPU of the guest is a package",
                where=Location(machine.source),
            ),
        )
    )
    return Scaled(
        topology,
        (*found, *flat),
    )


def _rank(machine: Machine, node: NumaNode, number: dict[int, int]) -> tuple[int, int]:
    """Return Linux's order of nodes: that of the firmware, by CPUs first."""
    # QEMU's firmware lists nodes by their CPUs first, and Linux numbers them in this order.
    numbers = [number[cpu] for cpu in ask.online_part(machine, node)]
    return min(numbers, default=len(number)), node.node_id


def _memories(nodes: tuple[NumaNode, ...], memory_mib: int) -> list[int]:
    """Return MiB of each node: its share of the whole, and at least the minimum of a node."""
    whole = sum(node.memory_bytes or 0 for node in nodes)
    target = min(memory_mib * _MIB, whole)
    found: list[int] = []
    for node in nodes:
        # The first node with memory also holds the kernel, so it needs more.
        least = _LEAST_NODE_MIB if any(found) else _LEAST_FIRST_MIB
        share = (node.memory_bytes or 0) * target // (whole * _MIB)
        found.append(max(share, least) if node.memory_bytes else 0)
    return found


def _layout(
    machine: Machine, nodes: tuple[NumaNode, ...]
) -> tuple[CpuLayout | None, tuple[int, ...]]:
    """Return the layout of the CPUs, and the CPUs in the guest's numbering.

    If QEMU does not support the layout, it is None and the order is that of the machine.
    """
    homes = {cpu: node.node_id for node in nodes for cpu in ask.online_part(machine, node)}
    plain = tuple(sorted(homes))
    sockets, cores = ask.sockets(machine), ask.cores(machine)
    covered = [sorted(cpu for group in groups for cpu in group) for groups in (sockets, cores)]
    # A CPU without known socket or core makes the layout useless.
    if any(list(plain) != each for each in covered):
        return None, plain
    threads = {len(core) for core in cores}
    per_socket = {len(socket) for socket in sockets}
    # QEMU's options describe only packages and cores of equal size.
    if len(threads) > 1 or len(per_socket) > 1:
        return None, plain
    (thread_count,), (socket_size,) = threads, per_socket
    dies = _dies(sockets, homes)
    core_of = {cpu: min(core) for core in cores for cpu in core}
    order = tuple(
        cpu
        for socket in sockets
        for cpu in sorted(
            socket, key=lambda cpu: (homes[cpu] if dies > 1 else 0, core_of[cpu], cpu)
        )
    )
    core_count = socket_size // thread_count
    if core_count == dies and thread_count == 1:
        # Linux forgets the package of dies of one CPU.
        return CpuLayout(len(sockets), cores=core_count), order
    return CpuLayout(len(sockets), dies, core_count // dies, thread_count), order


def _dies(sockets: Iterable[CpuSet], homes: dict[int, int]) -> int:
    """Return the number of nodes that share every package evenly, each inside one; else 1."""
    counts: set[int] = set()
    whose: set[int] = set()
    for socket in sockets:
        by_node: dict[int, int] = {}
        for cpu in socket:
            by_node[homes[cpu]] = by_node.get(homes[cpu], 0) + 1
        # A node in two packages, or an uneven division, cannot be a die.
        if len(set(by_node.values())) > 1 or whose & by_node.keys():
            return 1
        whose |= by_node.keys()
        counts.add(len(by_node))
    return counts.pop() if len(counts) == 1 else 1


def _distances(machine: Machine, nodes: tuple[NumaNode, ...]) -> Distances | None:
    """Return the distances between the kept nodes, if a guest can have them."""
    places = {node.node_id: place for place, node in enumerate(machine.nodes_by_id)}
    kept = [places[node.node_id] for node in nodes]
    rows = [node.distances for node in nodes]
    if any(row is None or len(row) != len(places) for row in rows):
        return None
    found = tuple(tuple(row[place] for place in kept) for row in rows if row is not None)
    for one, row in enumerate(found):
        for other, distance in enumerate(row):
            # The limits of the firmware's table: 10 to the node itself, up to 254 to others.
            is_legal = _HOME < distance <= _FARTHEST if one != other else distance == _HOME
            if not is_legal:
                return None
    return found


def _notes(
    machine: Machine, nodes: tuple[NumaNode, ...], topology: Topology, order: tuple[int, ...]
) -> Iterator[Finding]:
    where = Location(machine.source)
    ids = [node.node_id for node in nodes]
    empty = set(machine.node_ids) - set(ids)
    if empty:
        yield input_error.Assumed(
            f"the guest has no nodes without memory and CPUs: {cpu_set.text(empty)}", where=where
        )
    if ids != list(range(len(ids))):
        yield input_error.Assumed(
            f"the guest numbers nodes from 0 without gaps: {_renumbering(ids)}", where=where
        )
    if list(order) != list(range(len(order))):
        yield input_error.Assumed(
            f"the guest numbers CPUs from 0 without gaps: {_renumbering(order)}", where=where
        )
    if machine.offline_cpus:
        yield input_error.Assumed(
            f"the guest has no offline CPUs: {cpu_set.text(machine.offline_cpus)}", where=where
        )
    if topology.distances is None and len(nodes) > 1:
        rows = " / ".join(" ".join(map(str, node.distances or ("-",))) for node in nodes)
        yield input_error.Assumed(f"the guest cannot have these distances: {rows}", where=where)
    whole_mib = sum(node.memory_bytes or 0 for node in nodes) // _MIB
    if topology.memory_mib < whole_mib:
        factor = round(whole_mib / topology.memory_mib)
        yield input_error.Assumed(
            f"the guest has {topology.memory_mib} MiB of memory, 1/{factor} of the machine's",
            where=where,
        )


def _renumbering(numbers: Iterable[int]) -> str:
    """Return the first few of ``old -> new``."""
    pairs = [f"{old} -> {new}" for new, old in enumerate(numbers) if old != new]
    more = len(pairs) - 4
    return ", ".join(pairs[:4]) + (f" and {more} more" if more > 0 else "")
