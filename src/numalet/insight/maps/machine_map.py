"""A machine as a map: one row per NUMA node, totals, and notes on oddities.

It is what ``numalet machine -o json`` prints; CPU lists are texts such as ``0-3,8``. The kernel's
and the kubelet's view of one machine have the same form. Profiles are rows of the kubelet's view.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final, TypedDict, cast

from numalet.core.config.machine_notes import machine_notes
from numalet.core.model import cpu_set
from numalet.core.model import machine_queries as ask
from numalet.core.model.findings import Finding
from numalet.core.model.input_error import InputFinding
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine import Machine, NumaNode
from numalet.core.model.machine_info import HugePages, MachineInfo, NumaNodeInfo, OperatingSystem
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import Value
from numalet.insight.maps import machine_description


class ProfileDevices(Value):
    """How many devices of a resource there are."""

    resource: str
    count: int


class ProfileRow(Value, kw_only=True):
    """A machine profile: how large the machine is, what it is like, whose figures it has.

    ``numa_nodes`` includes every NUMA node; the numbers of nodes with CPUs and with memory include
    those nodes only. A source has a ``link``, what it ``gives``, and the ``date`` on which it was
    read; without a date it is a page to compare with.
    """

    name: str
    numa_nodes: int
    nodes_with_cpus: int
    nodes_with_memory: int
    cpus: int
    memory_bytes: int
    devices: tuple[ProfileDevices, ...]
    about: str
    figures: str
    sources: tuple[dict[str, str], ...] = ()


class Profiles(Value, tag_field="schema", tag="numalet.machine-profiles/1"):
    """All machine profiles, by name."""

    profiles: tuple[ProfileRow, ...]


def profile_row(
    name: str,
    about: str,
    figures: str,
    machine: MachineInfo,
    device_counts: Iterable[tuple[str, int]],
    sources: Iterable[dict[str, str]] = (),
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
        devices=tuple(ProfileDevices(*each) for each in device_counts),
        sources=tuple(sources),
    )


class View(Enum):
    KERNEL = "kernel"
    KUBELET = "kubelet"


class MachineNodeRow(Value, kw_only=True, rename={"node_class": "class"}):
    """A NUMA node; ``sockets`` are those of its CPUs. What is unknown is null.

    ``class`` is ``cpu`` with CPUs and memory, ``memory`` without CPUs, ``empty`` without memory.
    """

    id: int
    node_class: NodeClass
    sockets: tuple[int, ...]
    cpus: str
    offline_cpus: str
    cores: int
    memory_bytes: int | None
    hugepages: tuple[HugePages, ...]
    distances: tuple[int, ...] | None


class MachineNote(TypedDict):
    """An oddity: a stable code, a sentence, and beside them the figures in it."""

    code: str
    text: str


class MachineMap(Value, kw_only=True, tag_field="schema", tag="numalet.machine/1"):
    """A machine as it is, or as the kubelet sees it; nodes by id, or in the kubelet's order.

    ``sockets``, ``cores`` and ``cpus`` are counts. ``description`` is what the kubelet sees, core
    by core, in the form of a recorded scenario: ``-m`` reads it from this document.
    """

    view: View
    source: str
    os: OperatingSystem
    sockets: int
    cores: int
    cpus: int
    offline_cpus: str
    memory_bytes: int
    hugepages: tuple[HugePages, ...]
    numa_nodes: tuple[MachineNodeRow, ...]
    notes: tuple[MachineNote, ...]
    description: dict[str, Any]


def machine_map(machine: Machine, view: View, notes: Iterable[Finding] = ()) -> MachineMap:
    info = kubelet_view(machine)
    all_notes = tuple(map(_note, (*notes, *machine_notes(machine, info))))
    if view is View.KUBELET:
        return _kubelet_map(machine, info, all_notes)
    return _kernel_map(machine, info, all_notes)


MOST_DISTANCES: Final = 14
"""NUMA nodes whose distances are shown as numbers in the order of the nodes."""


def distances(rows: Sequence[MachineNodeRow]) -> dict[int, str]:
    """Return the distances of each node as a text: of many nodes ``10: 0; 16: 1-3``.

    Before a colon is a distance, behind it the nodes that have it. If a row has another length,
    the nodes are unknown, and the text has the numbers alone.
    """
    ids = sorted(row.id for row in rows)
    is_list = len(ids) <= MOST_DISTANCES or any(
        len(row.distances or ids) != len(ids) for row in rows
    )
    return {row.id: _distances(row.distances, () if is_list else ids) for row in rows}


def _distances(of_node: Sequence[int] | None, ids: Sequence[int]) -> str:
    if of_node is None:
        return "-"
    if not ids:
        return " ".join(map(str, of_node))
    groups: dict[int, list[int]] = {}
    for node_id, distance in zip(ids, of_node, strict=True):
        groups.setdefault(distance, []).append(node_id)
    return "; ".join(f"{far}: {cpu_set.text(groups[far])}" for far in sorted(groups))


def _note(note: Finding) -> MachineNote:
    figures = {} if isinstance(note, InputFinding) else note.fields
    return cast("MachineNote", {"code": note.code, **figures, "text": str(note)})


def _kernel_map(machine: Machine, info: MachineInfo, notes: tuple[MachineNote, ...]) -> MachineMap:
    total_kib = (machine.proc.meminfo or {}).get("MemTotal")
    # Without MemTotal (a machine that was described) the sum of the nodes has to do.
    of_nodes = sum(node.memory_bytes or 0 for node in machine.nodes)
    return MachineMap(
        view=View.KERNEL,
        source=machine.source,
        os=machine.os,
        # Without sibling lists, the ids have to do.
        sockets=len(ask.sockets(machine)) or len(ask.package_ids(machine)),
        cores=len(ask.cores(machine)) or ask.core_id_count(machine),
        cpus=len(machine.online_cpus),
        offline_cpus=cpu_set.text(machine.offline_cpus),
        memory_bytes=of_nodes if total_kib is None else total_kib * 1024,
        hugepages=tuple(HugePages(p.page_size_kib, p.count or 0) for p in machine.hugepages),
        numa_nodes=tuple(_kernel_row(machine, node) for node in machine.nodes_by_id),
        notes=notes,
        description=machine_description.of(info),
    )


def _kernel_row(machine: Machine, node: NumaNode) -> MachineNodeRow:
    online = ask.online_part(machine, node)
    members = [cpu for cpu in machine.cpus if cpu.cpu_id in online]
    places = {cpu.package_id for cpu in members if cpu.package_id is not None}
    cores = {cpu.thread_siblings & online for cpu in members if cpu.thread_siblings is not None}
    return MachineNodeRow(
        id=node.node_id,
        node_class=ask.node_class(node),
        sockets=tuple(sorted(places)),
        cpus=cpu_set.text(online),
        offline_cpus=cpu_set.text(node.cpus & machine.offline_cpus),
        cores=len(cores),
        memory_bytes=node.memory_bytes,
        hugepages=tuple(HugePages(p.page_size_kib, p.count or 0) for p in node.hugepages),
        distances=node.distances,
    )


def _kubelet_map(machine: Machine, info: MachineInfo, notes: tuple[MachineNote, ...]) -> MachineMap:
    return MachineMap(
        view=View.KUBELET,
        source=machine.source,
        os=info.os,
        sockets=info.socket_count,
        cores=info.physical_core_count,
        cpus=info.cpu_count,
        offline_cpus="",
        memory_bytes=info.memory_capacity_bytes,
        hugepages=info.hugepages,
        numa_nodes=tuple(_kubelet_row(node) for node in info.nodes),
        notes=notes,
        description=machine_description.of(info),
    )


def _kubelet_row(node: NumaNodeInfo) -> MachineNodeRow:
    return MachineNodeRow(
        id=node.node_id,
        node_class=ask.node_class(node),
        sockets=tuple(sorted({core.socket_id for core in node.cores})),
        cpus=cpu_set.text(thread for core in node.cores for thread in core.threads),
        offline_cpus="",
        cores=len(node.cores),
        memory_bytes=node.memory_bytes,
        hugepages=node.hugepages,
        distances=node.distances,
    )
