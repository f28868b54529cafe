"""Reads cAdvisor's MachineInfo, the JSON of ``/api/v1.3/machine``, into a machine.

The kubelet itself works with this document. Fields that its managers do not use are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from numalet.core.model import cpu_set, input_error
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.kubelet_view import machine_of_view
from numalet.core.model.machine import Machine
from numalet.core.model.machine_info import (
    CoreInfo,
    HugePages,
    MachineInfo,
    NodeCache,
    NumaNodeInfo,
)
from numalet.io.documents.machine import machine_cpus, machine_sizes
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import LineOf, Place, no_line


class _Pages(msgspec.Struct, frozen=True):
    page_size: int = 0
    num_pages: int = 0


class _Cache(msgspec.Struct, frozen=True):
    id: int = 0
    size: int = 0
    level: int = 0


class _Core(msgspec.Struct, frozen=True):
    core_id: int
    thread_ids: list[int] | None = None
    uncore_caches: list[_Cache] | None = None
    socket_id: int = 0
    book_id: str = ""
    drawer_id: str = ""


class _Node(msgspec.Struct, frozen=True):
    node_id: int
    memory: int = 0
    hugepages: list[_Pages] | None = None
    cores: list[_Core] | None = None
    caches: list[_Cache] | None = None
    distances: list[int] | None = None


class _MachineInfo(msgspec.Struct, frozen=True):
    num_cores: int
    topology: list[_Node]
    num_physical_cores: int = 0
    num_sockets: int = 0
    memory_capacity: int = 0
    hugepages: list[_Pages] | None = None


def is_machine_info(value: object) -> bool:
    """Whether the document is a MachineInfo rather than a machine file."""
    return isinstance(value, Mapping) and "topology" in value and "num_cores" in value


def decode(value: object, where: Location, lines: LineOf = no_line) -> Machine:
    """The machine of a MachineInfo; raises ``BadInput`` with all errors."""
    findings = Findings()
    place = Place(where.document, where.path or "$", lines)
    read = typed.decode(value, _MachineInfo, place, findings)
    if read is None:
        raise BadInput(findings.all)
    _check(read, place, findings)
    findings.raise_errors()
    return machine_of_view(_view(read), where.document)


def _check(read: _MachineInfo, place: Place, findings: Findings) -> None:
    sizes = (read.memory_capacity, *(node.memory for node in read.topology))
    for size in sizes:
        machine_sizes.whole_number(
            size, 0, machine_sizes.MOST_BYTES, place.member("memory"), findings
        )
    nodes = place.member("topology")
    times = Counter(node.node_id for node in read.topology)
    for index, node in enumerate(read.topology):
        inner = nodes.item(index)
        # Without NUMA, cAdvisor makes a "node" of each package, and its id may be -1.
        machine_sizes.whole_number(node.node_id, -1, 65535, inner.member("node_id"), findings)
        if times[node.node_id] > 1:
            # Report each id once.
            times[node.node_id] = 0
            where = inner.member("node_id").location
            findings.add(
                input_error.Duplicate(f"two NUMA nodes have the id {node.node_id}", where=where)
            )
        _check_node(node, inner, findings)
    for page in _all_pages(read):
        pages = place.member("hugepages")
        machine_sizes.whole_number(page.page_size, 1, 1 << 40, pages, findings)
        machine_sizes.whole_number(page.num_pages, 0, 1 << 60, pages, findings)


def _check_node(node: _Node, place: Place, findings: Findings) -> None:
    for index, core in enumerate(node.cores or ()):
        inner = place.member("cores").item(index)
        if not core.thread_ids:
            findings.add(machine_cpus.no_threads(inner.location))
        for thread in core.thread_ids or ():
            machine_sizes.whole_number(
                thread, 0, machine_cpus.HIGHEST_CPU, inner.member("thread_ids"), findings
            )
    # One core may list a thread twice; only two cores with the same thread are an error.
    threads = Counter(
        thread for core in node.cores or () for thread in frozenset(core.thread_ids or ())
    )
    twice = [thread for thread, times in threads.items() if times > 1 and thread >= 0]
    if twice:
        value = cpu_set.text(twice)
        findings.add(machine_cpus.listed_twice(value, place.member("cores").location))
    for distance in node.distances or ():
        machine_sizes.whole_number(distance, 0, (1 << 31) - 1, place.member("distances"), findings)


def _all_pages(read: _MachineInfo) -> list[_Pages]:
    pages = list(read.hugepages or ())
    for node in read.topology:
        pages += node.hugepages or ()
    return pages


def _view(read: _MachineInfo) -> MachineInfo:
    return MachineInfo(
        nodes=tuple(_node(node) for node in read.topology),
        memory_capacity_bytes=read.memory_capacity,
        cpu_count=read.num_cores,
        socket_count=read.num_sockets,
        hugepages=_pages(read.hugepages),
        physical_core_count=read.num_physical_cores,
    )


def _node(node: _Node) -> NumaNodeInfo:
    return NumaNodeInfo(
        node_id=node.node_id,
        memory_bytes=node.memory,
        hugepages=_pages(node.hugepages),
        cores=tuple(_core(core) for core in node.cores or ()),
        # Old cAdvisor releases leave distances out; an empty row means the same.
        distances=tuple(node.distances) if node.distances else None,
        caches=tuple(NodeCache(c.level, c.id, c.size) for c in node.caches or ()),
    )


def _core(core: _Core) -> CoreInfo:
    uncore = core.uncore_caches or ()
    return CoreInfo(
        socket_id=core.socket_id,
        core_id=core.core_id,
        threads=tuple(sorted(frozenset(core.thread_ids or ()))),
        # The kubelet uses the first uncore cache of a core, too.
        uncore_cache_id=uncore[0].id if uncore else None,
        book_id=core.book_id,
        drawer_id=core.drawer_id,
    )


def _pages(pages: list[_Pages] | None) -> tuple[HugePages, ...]:
    return tuple(HugePages(page.page_size, page.num_pages) for page in pages or ())
