"""A machine as a map: one row per NUMA node, totals, and notes on oddities.

The kernel's and the kubelet's view of one machine have the same form. Profiles are rows of the
kubelet's view.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from numalet.core.config.machine_notes import machine_notes
from numalet.core.model import machine_queries as ask
from numalet.core.model.cpu_set import EMPTY, CpuSet
from numalet.core.model.findings import Finding
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine import Machine, NumaNode
from numalet.core.model.machine_info import HugePages, MachineInfo, NumaNodeInfo, OperatingSystem
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import Value


class ProfileRow(Value, kw_only=True):
    """One profile.

    ``numa_nodes`` includes every NUMA node; the numbers of nodes with CPUs and with memory include
    those nodes only. ``device_counts`` is by resource.
    """

    name: str
    about: str
    figures: str
    numa_nodes: int
    nodes_with_cpus: int
    nodes_with_memory: int
    cpus: int
    memory_bytes: int
    device_counts: tuple[tuple[str, int], ...]


def profile_row(
    name: str,
    about: str,
    figures: str,
    machine: MachineInfo,
    device_counts: Iterable[tuple[str, int]],
) -> ProfileRow:
    return ProfileRow(
        name=name,
        about=about,
        figures=figures,
        numa_nodes=len(machine.nodes),
        nodes_with_cpus=sum(1 for node in machine.nodes if node.cores),
        nodes_with_memory=sum(1 for node in machine.nodes if node.memory_bytes),
        cpus=machine.cpu_count,
        memory_bytes=machine.memory_capacity_bytes,
        device_counts=tuple(device_counts),
    )


class View(Enum):
    KERNEL = "kernel"
    KUBELET = "kubelet"


class MachineNodeRow(Value):
    """One NUMA node. ``sockets`` are those of its CPUs: zero, one or several."""

    node_id: int
    node_class: NodeClass
    sockets: tuple[int, ...]
    cpus: CpuSet
    offline_cpus: CpuSet
    core_count: int
    memory_bytes: int | None
    hugepages: tuple[HugePages, ...]
    distances: tuple[int, ...] | None


class MachineMap(Value, kw_only=True):
    """The whole machine; nodes by ascending id, or in the kubelet's order.

    ``seen`` is the kubelet's view, in both maps.
    """

    view: View
    source: str
    os: OperatingSystem
    socket_count: int
    core_count: int
    cpu_count: int
    offline_cpus: CpuSet
    memory_bytes: int
    hugepages: tuple[HugePages, ...]
    nodes: tuple[MachineNodeRow, ...]
    notes: tuple[Finding, ...]
    seen: MachineInfo


def machine_map(machine: Machine, view: View, notes: Iterable[Finding] = ()) -> MachineMap:
    info = kubelet_view(machine)
    all_notes = (*notes, *machine_notes(machine, info))
    if view is View.KUBELET:
        return _kubelet_map(machine, info, all_notes)
    return _kernel_map(machine, info, all_notes)


def _kernel_map(machine: Machine, info: MachineInfo, notes: tuple[Finding, ...]) -> MachineMap:
    total_kib = (machine.proc.meminfo or {}).get("MemTotal")
    # Without MemTotal (a machine that was described) the sum of the nodes has to do.
    of_nodes = sum(node.memory_bytes or 0 for node in machine.nodes)
    return MachineMap(
        view=View.KERNEL,
        source=machine.source,
        os=machine.os,
        # Without sibling lists, the ids have to do.
        socket_count=len(ask.sockets(machine)) or len(ask.package_ids(machine)),
        core_count=len(ask.cores(machine)) or ask.core_id_count(machine),
        cpu_count=len(machine.online_cpus),
        offline_cpus=machine.offline_cpus,
        memory_bytes=of_nodes if total_kib is None else total_kib * 1024,
        hugepages=tuple(HugePages(p.page_size_kib, p.count or 0) for p in machine.hugepages),
        nodes=tuple(_kernel_row(machine, node) for node in machine.nodes_by_id),
        notes=notes,
        seen=info,
    )


def _kernel_row(machine: Machine, node: NumaNode) -> MachineNodeRow:
    online = ask.online_part(machine, node)
    members = [cpu for cpu in machine.cpus if cpu.cpu_id in online]
    places = {cpu.package_id for cpu in members if cpu.package_id is not None}
    cores = {cpu.thread_siblings & online for cpu in members if cpu.thread_siblings is not None}
    return MachineNodeRow(
        node_id=node.node_id,
        node_class=ask.node_class(node),
        sockets=tuple(sorted(places)),
        cpus=online,
        offline_cpus=node.cpus & machine.offline_cpus,
        core_count=len(cores),
        memory_bytes=node.memory_bytes,
        hugepages=tuple(HugePages(p.page_size_kib, p.count or 0) for p in node.hugepages),
        distances=node.distances,
    )


def _kubelet_map(machine: Machine, info: MachineInfo, notes: tuple[Finding, ...]) -> MachineMap:
    return MachineMap(
        view=View.KUBELET,
        source=machine.source,
        os=info.os,
        socket_count=info.socket_count,
        core_count=info.physical_core_count,
        cpu_count=info.cpu_count,
        offline_cpus=EMPTY,
        memory_bytes=info.memory_capacity_bytes,
        hugepages=info.hugepages,
        nodes=tuple(_kubelet_row(node) for node in info.nodes),
        notes=notes,
        seen=info,
    )


def _kubelet_row(node: NumaNodeInfo) -> MachineNodeRow:
    return MachineNodeRow(
        node_id=node.node_id,
        node_class=ask.node_class(node),
        sockets=tuple(sorted({core.socket_id for core in node.cores})),
        cpus=frozenset(thread for core in node.cores for thread in core.threads),
        offline_cpus=EMPTY,
        core_count=len(node.cores),
        memory_bytes=node.memory_bytes,
        hugepages=node.hugepages,
        distances=node.distances,
    )
