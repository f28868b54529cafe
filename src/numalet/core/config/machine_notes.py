"""What is odd about a machine, or will matter to a kubelet on it, as notes.

A note is a finding without a sentence; ``wording`` has the sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from numalet.core.config.behaviour import EXACT
from numalet.core.model import cpu_set
from numalet.core.model import machine_queries as ask
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.machine import Machine, NumaNode
from numalet.core.model.machine_info import MachineInfo

_KIB: Final = 1024


def machine_notes(machine: Machine, info: MachineInfo) -> tuple[Finding, ...]:
    """What is odd about a machine, or will matter to the kubelet."""
    where = Location(machine.source)
    return tuple(
        Finding(f"machine/note-{what}", fields, where, Severity.NOTE)
        for what, fields in (
            *_node_oddities(machine),
            *_cpu_oddities(machine),
            *_id_oddities(machine),
            *_differences(machine, info),
        )
    )


_Oddity = tuple[str, dict[str, Any]]


def _listed(what: str, ids: Iterable[int]) -> Iterator[_Oddity]:
    """A note with a list of numbers, if there are any."""
    text = cpu_set.text(ids)
    if text:
        yield what, {"value": text}


def _node_oddities(machine: Machine) -> Iterator[_Oddity]:
    nodes = machine.nodes_by_id
    if not nodes:
        yield "no-numa", {}
    yield from _listed("cpuless", ask.cpuless_nodes(machine))
    yield from _listed("memoryless", ask.memoryless_nodes(machine))
    yield from _listed("memory-unknown", (n.node_id for n in nodes if n.memory_bytes is None))
    yield from _listed("no-distances", (n.node_id for n in nodes if n.distances is None))
    odd_rows = (
        node.node_id
        for node in nodes
        if node.distances is not None and len(node.distances) != len(nodes)
    )
    yield from _listed("row-length", odd_rows)
    yield from _listed("pages", (node.node_id for node in nodes if _has_too_many_pages(node)))


def _has_too_many_pages(node: NumaNode) -> bool:
    pages_bytes = sum(pool.page_size_kib * _KIB * (pool.count or 0) for pool in node.hugepages)
    return node.memory_bytes is not None and pages_bytes > node.memory_bytes


def _cpu_oddities(machine: Machine) -> Iterator[_Oddity]:
    yield from _listed("offline", machine.offline_cpus)
    times = Counter(cpu for node in machine.nodes for cpu in node.cpus)
    if machine.nodes:
        yield from _listed("homeless", machine.online_cpus - times.keys())
    yield from _listed("shared", (cpu for cpu, count in times.items() if count > 1))
    usable = any(node.linked_cpus - node.broken_links for node in machine.nodes)
    if times and not usable:
        yield "links", {}


def _id_oddities(machine: Machine) -> Iterator[_Oddity]:
    ids = machine.node_ids
    limit = EXACT.default_node_limit
    if limit is not None and len(ids) > limit:
        yield "many-nodes", {"value": len(ids), "limit": limit}
    highest = EXACT.highest_node_id
    if highest is not None and any(node_id > highest for node_id in ids):
        high = cpu_set.text(node_id for node_id in ids if node_id > highest)
        yield "high-ids", {"value": high, "limit": highest}
    if ids != tuple(range(len(ids))):
        yield from _listed("sparse-ids", ids)


def _differences(machine: Machine, info: MachineInfo) -> Iterator[_Oddity]:
    """Where the kubelet's view has other totals than the machine."""
    pairs = (
        ("sockets", len(ask.sockets(machine)), info.socket_count),
        ("CPUs", len(machine.online_cpus), info.cpu_count),
        ("cores of nodes", len(ask.cores(machine)), sum(len(n.cores) for n in info.nodes)),
    )
    for what, kernel, kubelet in pairs:
        if kernel != kubelet:
            yield "views-differ", {"what": what, "kernel": kernel, "kubelet": kubelet}
