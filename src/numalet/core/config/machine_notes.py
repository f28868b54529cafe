"""Notes about odd properties of a machine, or properties that matter to a kubelet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from numalet.core.config.behaviour import EXACT
from numalet.core.findings.machine import (
    MachineNoteCpuless,
    MachineNoteHighIds,
    MachineNoteHomeless,
    MachineNoteLinks,
    MachineNoteManyNodes,
    MachineNoteMemoryless,
    MachineNoteMemoryUnknown,
    MachineNoteNoDistances,
    MachineNoteNoNuma,
    MachineNoteOffline,
    MachineNoteOfIds,
    MachineNotePages,
    MachineNoteRowLength,
    MachineNoteShared,
    MachineNoteSparseIds,
    MachineNoteViewsDiffer,
)
from numalet.core.model import cpu_set
from numalet.core.model import machine_queries as ask
from numalet.core.model.findings import Location, NoteFinding
from numalet.core.model.machine import Machine, NumaNode
from numalet.core.model.machine_info import MachineInfo

_KIB: Final = 1024


def machine_notes(machine: Machine, info: MachineInfo) -> tuple[NoteFinding, ...]:
    where = Location(machine.source)
    return (
        *_node_oddities(machine, where),
        *_cpu_oddities(machine, where),
        *_id_oddities(machine, where),
        *_differences(machine, info, where),
    )


def _listed(
    note: type[MachineNoteOfIds], ids: Iterable[int], where: Location
) -> Iterator[NoteFinding]:
    text = cpu_set.text(ids)
    if text:
        yield note(value=text, where=where)


def _node_oddities(machine: Machine, where: Location) -> Iterator[NoteFinding]:
    nodes = machine.nodes_by_id
    if not nodes:
        yield MachineNoteNoNuma(where=where)
    yield from _listed(MachineNoteCpuless, ask.cpuless_nodes(machine), where)
    yield from _listed(MachineNoteMemoryless, ask.memoryless_nodes(machine), where)
    yield from _listed(
        MachineNoteMemoryUnknown, (n.node_id for n in nodes if n.memory_bytes is None), where
    )
    yield from _listed(
        MachineNoteNoDistances, (n.node_id for n in nodes if n.distances is None), where
    )
    odd_rows = (
        node.node_id
        for node in nodes
        if node.distances is not None and len(node.distances) != len(nodes)
    )
    yield from _listed(MachineNoteRowLength, odd_rows, where)
    yield from _listed(
        MachineNotePages, (node.node_id for node in nodes if _has_too_many_pages(node)), where
    )


def _has_too_many_pages(node: NumaNode) -> bool:
    pages_bytes = sum(pool.page_size_kib * _KIB * (pool.count or 0) for pool in node.hugepages)
    return node.memory_bytes is not None and pages_bytes > node.memory_bytes


def _cpu_oddities(machine: Machine, where: Location) -> Iterator[NoteFinding]:
    yield from _listed(MachineNoteOffline, machine.offline_cpus, where)
    times = Counter(cpu for node in machine.nodes for cpu in node.cpus)
    if machine.nodes:
        yield from _listed(MachineNoteHomeless, machine.online_cpus - times.keys(), where)
    yield from _listed(MachineNoteShared, (cpu for cpu, count in times.items() if count > 1), where)
    usable = any(node.linked_cpus - node.broken_links for node in machine.nodes)
    if times and not usable:
        yield MachineNoteLinks(where=where)


def _id_oddities(machine: Machine, where: Location) -> Iterator[NoteFinding]:
    ids = machine.node_ids
    limit = EXACT.default_node_limit
    if limit is not None and len(ids) > limit:
        yield MachineNoteManyNodes(value=len(ids), limit=limit, where=where)
    highest = EXACT.highest_node_id
    if highest is not None and any(node_id > highest for node_id in ids):
        high = cpu_set.text(node_id for node_id in ids if node_id > highest)
        yield MachineNoteHighIds(value=high, limit=highest, where=where)
    if ids != tuple(range(len(ids))):
        yield from _listed(MachineNoteSparseIds, ids, where)


def _differences(machine: Machine, info: MachineInfo, where: Location) -> Iterator[NoteFinding]:
    """Yield totals in which the kubelet's view differs from the machine."""
    pairs = (
        ("sockets", len(ask.sockets(machine)), info.socket_count),
        ("CPUs", len(machine.online_cpus), info.cpu_count),
        ("cores of nodes", len(ask.cores(machine)), sum(len(n.cores) for n in info.nodes)),
    )
    for what, kernel, kubelet in pairs:
        if kernel != kubelet:
            yield MachineNoteViewsDiffer(what=what, kernel=kernel, kubelet=kubelet, where=where)
