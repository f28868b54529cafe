"""The memory reservation of a node: its parts, and how to split it over NUMA nodes.

The Memory Manager's policy Static starts only if the entries of ``reservedMemory`` add up to the
*reservation*: kubeReserved + systemReserved + the hard eviction threshold. A *split* is such a set
of entries; a *strategy* chooses one of the many. Huge pages are never part of a reservation.
*Usable* memory of a NUMA node is its memory without huge pages: in the kubelet a larger reservation
wraps around. Kubelet v1.32: ``GetNodeAllocatableReservation``, ``validateReservedMemory``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.config import node_allocatable
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.findings.reservation import (
    ReserveNothingToReserve,
    ReserveNotWholeBytes,
    ReserveSpareNeeded,
    ReserveTooLittleMemory,
    ReserveUnknownNode,
)
from numalet.core.model import resources
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.model.value import Value, replace

UNIT_BYTES: Final = 1 << 20
"""Shares are whole mebibytes if possible, because people read them."""


class MemoryParts(Value):
    """The parts of the memory reservation; ``total`` must be split."""

    kube_reserved: Quantity
    system_reserved: Quantity
    eviction: Quantity

    @property
    def total(self) -> Quantity:
        return self.system_reserved + self.kube_reserved + self.eviction


def memory_parts(config: KubeletConfig, machine: MachineInfo, findings: Findings) -> MemoryParts:
    """Return the parts of the memory reservation; report bad values and use 0 for them.

    The default eviction threshold applies if the kubelet adds it.
    """
    name = resources.MEMORY
    kube = node_allocatable.parse_reserved(config, "kubeReserved", config.kube_reserved, findings)
    system = node_allocatable.parse_reserved(
        config, "systemReserved", config.system_reserved, findings
    )
    thresholds = node_allocatable.parse_eviction(config, findings)
    reserving = {} if config.ignore_hard_eviction else thresholds
    evicting = node_allocatable.reservation(machine, {}, {}, reserving)
    return MemoryParts(kube.get(name, ZERO), system.get(name, ZERO), evicting.get(name, ZERO))


class Spread(Enum):
    """A strategy without parameters."""

    EVEN = "even"
    """The same amount on every NUMA node with CPUs."""
    PROPORTIONAL = "proportional"
    """On every NUMA node with CPUs, in proportion to its usable memory."""
    NODE0 = "node0"
    """All on the first NUMA node with CPUs; the excess on the next node."""


class Spare(Value):
    """Keep one NUMA node free, and split evenly over the others."""

    numa_node: int


Strategy: TypeAlias = Spread | Spare


class NodeShare(Value):
    """Capacity and reservation of one NUMA node, in bytes."""

    numa_node: int
    memory_bytes: int
    hugepages_bytes: int
    has_cpus: bool
    reserved_bytes: int = 0

    @property
    def usable_bytes(self) -> int:
        """The largest possible reservation on this node."""
        return max(self.memory_bytes - self.hugepages_bytes, 0)

    @property
    def left_bytes(self) -> int:
        """Memory for pods, without huge pages."""
        return self.usable_bytes - self.reserved_bytes


def nodes_of(machine: MachineInfo) -> tuple[NodeShare, ...]:
    """Return the NUMA nodes by id, without reservations."""
    nodes = sorted(machine.nodes, key=lambda node: node.node_id)
    return tuple(
        NodeShare(node.node_id, node.memory_bytes, hugepages_bytes(node), bool(node.cores))
        for node in nodes
    )


def hugepages_bytes(node: NumaNodeInfo) -> int:
    return sum(pages.page_size_kib * 1024 * pages.count for pages in node.hugepages)


def split(
    machine: MachineInfo, total: Quantity, strategy: Strategy
) -> tuple[NodeShare, ...] | Finding:
    """Split the total over the NUMA nodes, by id, or return why that is impossible.

    Nodes without CPUs get a share only when the others are full: the system runs on CPUs.
    """
    nodes = nodes_of(machine)
    problem = _problem(nodes, total, strategy)
    if problem is not None:
        return problem
    shares: dict[int, int] = {}
    left = total.value
    for tier in _tiers(nodes, strategy):
        given = _fill(tier, left, strategy)
        shares |= given
        left -= sum(given.values())
    if left:
        spared = strategy.numa_node if isinstance(strategy, Spare) else None
        return ReserveSpareNeeded(numa_node=spared, total=total, missing=Quantity.from_bytes(left))
    return tuple(
        NodeShare(
            node.numa_node,
            node.memory_bytes,
            node.hugepages_bytes,
            node.has_cpus,
            shares.get(node.numa_node, 0),
        )
        for node in nodes
    )


def entries(shares: Iterable[NodeShare]) -> tuple[ReservedMemory, ...]:
    """Return ``reservedMemory`` for these shares, without zeros, which are illegal."""
    return tuple(
        ReservedMemory(
            share.numa_node,
            MappingProxyType({resources.MEMORY: Quantity.from_bytes(share.reserved_bytes)}),
        )
        for share in shares
        if share.reserved_bytes
    )


def keeping_hugepages(
    computed: Sequence[ReservedMemory], given: Iterable[ReservedMemory]
) -> tuple[ReservedMemory, ...]:
    """Add the huge pages that the given reservation has on each node.

    Nodes that reserve only huge pages are last, by id.
    """
    pages: dict[int, dict[str, Quantity]] = {}
    for entry in given:
        kept = {name: each for name, each in entry.limits.items() if resources.is_hugepages(name)}
        if kept:
            pages.setdefault(entry.numa_node, {}).update(kept)
    merged = [
        replace(entry, limits=MappingProxyType({**entry.limits, **pages.pop(entry.numa_node, {})}))
        for entry in computed
    ]
    alone = [ReservedMemory(node, MappingProxyType(pages[node])) for node in sorted(pages)]
    return (*merged, *alone)


def _problem(nodes: Sequence[NodeShare], total: Quantity, strategy: Strategy) -> Finding | None:
    usable = Quantity.from_bytes(sum(node.usable_bytes for node in nodes))
    known = ", ".join(str(node.numa_node) for node in nodes) or "none"
    if total.sign <= 0:
        return ReserveNothingToReserve()
    if Quantity.from_bytes(total.value) != total:
        return ReserveNotWholeBytes(total=total)
    if total > usable:
        return ReserveTooLittleMemory(total=total, usable=usable)
    if isinstance(strategy, Spare) and all(node.numa_node != strategy.numa_node for node in nodes):
        return ReserveUnknownNode(numa_node=strategy.numa_node, known=known)
    return None


def _tiers(nodes: Sequence[NodeShare], strategy: Strategy) -> list[list[NodeShare]]:
    """Return groups of nodes; a group is used only when those before it are full."""
    with_cpus = [node for node in nodes if node.has_cpus]
    without = [node for node in nodes if not node.has_cpus]
    if isinstance(strategy, Spare):
        spared = strategy.numa_node
        return [
            [node for node in tier if node.numa_node != spared] for tier in (with_cpus, without)
        ]
    if strategy is Spread.NODE0:
        return [[node] for node in (*with_cpus, *without)]
    return [with_cpus, without]


def _fill(tier: Sequence[NodeShare], wanted_bytes: int, strategy: Strategy) -> dict[int, int]:
    """Return bytes by node: the wanted total, or all usable memory of the tier."""
    given = {node.numa_node: 0 for node in tier}
    left = min(wanted_bytes, sum(node.usable_bytes for node in tier))
    open_nodes = [node for node in tier if node.usable_bytes]
    while left:
        shares = _shares(open_nodes, left, strategy)
        full = [node for node in open_nodes if shares[node.numa_node] >= node.usable_bytes]
        # Capping a node raises the shares of the others, so full nodes are removed and the rest
        # is shared again.
        if not full:
            _hand_out(open_nodes, shares, left)
            return given | shares
        for node in full:
            given[node.numa_node] = node.usable_bytes
            left -= node.usable_bytes
        open_nodes = [node for node in open_nodes if node not in full]
    return given


def _shares(nodes: Sequence[NodeShare], left: int, strategy: Strategy) -> dict[int, int]:
    """Return the shares of these nodes, rounded down to whole units."""
    is_weighted = strategy is Spread.PROPORTIONAL
    weights = {node.numa_node: node.usable_bytes if is_weighted else 1 for node in nodes}
    total_weight = sum(weights.values())
    return {
        node_id: left * weight // total_weight // UNIT_BYTES * UNIT_BYTES
        for node_id, weight in weights.items()
    }


def _hand_out(nodes: Sequence[NodeShare], shares: dict[int, int], left: int) -> None:
    """Distribute the rounding remainder by units, first nodes first."""
    rest = left - sum(shares.values())
    while rest:
        for node in nodes:
            room = node.usable_bytes - shares[node.numa_node]
            more = min(rest, UNIT_BYTES, room)
            shares[node.numa_node] += more
            rest -= more


def total_by_node(reserved: Iterable[ReservedMemory]) -> Mapping[int, Quantity]:
    sums: dict[int, Quantity] = {}
    for entry in reserved:
        if resources.MEMORY in entry.limits:
            before = sums.get(entry.numa_node, ZERO)
            sums[entry.numa_node] = before + entry.limits[resources.MEMORY]
    return sums
