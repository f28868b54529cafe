"""Reads a machine file (YAML or JSON), or the ``machine`` object of a recorded scenario.

The longer field names of scenarios (``numa_nodes``, ``memory_bytes``, ``cores``) are synonyms. The
result is the kubelet's view: nodes in the given order, totals are sums, each distinct socket number
is a socket. See ``docs/reference/machine-file.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from numalet.core.model import input_error, machine_shape, resources
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.kubelet_view import kubelet_view, machine_of_view
from numalet.core.model.machine import Machine
from numalet.core.model.machine_info import HugePages, MachineInfo, NumaNodeInfo, OperatingSystem
from numalet.core.model.machine_queries import NodeClass, node_class
from numalet.core.model.value import Value, replace
from numalet.io.documents.machine import machine_cpus, machine_sizes, profile_library
from numalet.io.documents.machine.profile_library import Profile
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import LineOf, Place, no_line

HIGHEST_NODE_ID: Final = 1023
"""Linux supports up to 1,024 NUMA nodes (CONFIG_NODES_SHIFT)."""

_FARTHEST: Final = (1 << 31) - 1
_TOP: Final = ("os", "nodes", "numa_nodes", "distances", "totals")
_SHAPED: Final = ("os", "shape", "memory_per_node", "hugepages_per_node")
_NODE: Final = (
    "id",
    "memory",
    "memory_bytes",
    "hugepages",
    "distances",
    *machine_cpus.FIELDS,
)
_PROFILED: Final = ("profile", "hugepages_per_node")
_SYSTEMS: Final = {system.value: system for system in OperatingSystem}


_Count = Annotated[int, msgspec.Meta(ge=0, le=machine_sizes.MOST_BYTES)]


class _Pages(msgspec.Struct, frozen=True):
    page_size_kib: _Count
    count: _Count


class _Totals(msgspec.Struct, frozen=True):
    memory_bytes: _Count | None = None
    cpus: _Count | None = None
    sockets: _Count | None = None
    hugepages: list[_Pages] | None = None


def decode(value: object, where: Location, lines: LineOf = no_line) -> Machine:
    """The machine of a machine file; raises ``BadInput`` with all errors.

    Args:
        value: the plain value of the document, or of the object in it.
        where: the document and path of the value, for findings.
        lines: returns the line of a path.
    """
    findings = Findings()
    place = Place(where.document, where.path or "$", lines)
    if not isinstance(value, Mapping):
        typed.wrong_type(value, "an object that describes a machine", place, findings)
        raise BadInput(findings.all)
    system = _system(value.get("os", "linux"), place.member("os"), findings)
    if "shape" in value:
        return _shaped(value, system, place, findings)
    if "profile" in value:
        return _profiled(value, place, findings)
    typed.check_members(value, (*_TOP, "shape", "profile"), place, findings)
    nodes = _Nodes(findings).read(value, place)
    totals = typed.decode(value.get("totals") or {}, _Totals, place.member("totals"), findings)
    findings.raise_errors()
    view = _view(nodes, system)
    return machine_of_view(_with_totals(view, totals) if totals else view, where.document)


def _with_totals(machine: MachineInfo, totals: _Totals) -> MachineInfo:
    """The view with the totals that differ from the sums over its nodes."""
    pages = totals.hugepages
    given: dict[str, Any] = {
        "memory_capacity_bytes": totals.memory_bytes,
        "cpu_count": totals.cpus,
        "socket_count": totals.sockets,
        "hugepages": pages and tuple(HugePages(each.page_size_kib, each.count) for each in pages),
    }
    return replace(machine, **{name: each for name, each in given.items() if each is not None})


def of_profile(
    profile: Profile, pages: tuple[HugePages, ...] = (), place: Place | None = None
) -> Machine:
    """The machine of a built-in profile; raises ``BadInput``.

    ``pages`` are huge pages for each node with CPUs and memory; ``place`` is their place, for
    findings.
    """
    machine = decode(profile.machine, profile.machine_place, profile.line_of)
    view = kubelet_view(machine)
    findings = Findings()
    known = {each.page_size_kib for each in view.hugepages}
    for each in pages:
        if each.page_size_kib not in known:
            findings.add(
                input_error.NotSupported(
                    f"the machine of profile {profile.name} has no "
                    f"{resources.hugepages_name(each.page_size_kib)}",
                    expected=(f"one of: {', '.join(map(resources.hugepages_name, sorted(known)))}"),
                    where=place.location if place else profile.machine_place,
                )
            )
    findings.raise_errors()
    counts = {each.page_size_kib: each.count for each in pages}
    nodes = (_with_pages(node, counts) for node in view.nodes)
    return machine_of_view(_view(tuple(nodes), view.os), machine.source)


def _with_pages(node: NumaNodeInfo, counts: Mapping[int, int]) -> NumaNodeInfo:
    """The node with these page counts by size in KiB, if it has CPUs and memory."""
    if node_class(node) is not NodeClass.CPU:
        return node
    pages = (
        replace(each, count=counts.get(each.page_size_kib, each.count)) for each in node.hugepages
    )
    return replace(node, hugepages=tuple(pages))


def _profiled(value: Mapping[Any, Any], place: Place, findings: Findings) -> Machine:
    typed.check_members(value, _PROFILED, place, findings)
    name, where = value["profile"], place.member("profile")
    if not isinstance(name, str):
        typed.wrong_type(name, "the name of a profile", where, findings)
    sizes = place.member("hugepages_per_node")
    pages = machine_sizes.huge_pages(value.get("hugepages_per_node"), sizes, findings)
    findings.raise_errors()
    return of_profile(profile_library.read(name, where.location), pages, sizes)


def _system(value: object, place: Place, findings: Findings) -> OperatingSystem:
    if isinstance(value, str) and value in _SYSTEMS:
        return _SYSTEMS[value]
    findings.add(
        input_error.NotSupported(
            f"unknown operating system {typed.described(value)}",
            expected="linux or windows",
            where=place.location,
        )
    )
    return OperatingSystem.LINUX


def _shaped(
    value: Mapping[Any, Any], system: OperatingSystem, place: Place, findings: Findings
) -> Machine:
    typed.check_members(value, _SHAPED, place, findings)
    shape = machine_shape.MachineShape(1, 1, 1)
    try:
        shape = machine_shape.parse_shape(str(value["shape"])[:80], place.member("shape").location)
    except BadInput as bad:
        findings.extend(bad.findings)
    memory = machine_sizes.memory_bytes(
        value.get("memory_per_node"), place.member("memory_per_node"), findings
    )
    pages = machine_sizes.huge_pages(
        value.get("hugepages_per_node"), place.member("hugepages_per_node"), findings
    )
    findings.raise_errors()
    counts = {page.page_size_kib: page.count for page in pages}
    machine = machine_shape.machine_of_shape(shape, memory or 0, counts, place.document)
    return replace(machine, os=system)


class _Nodes(Value):
    findings: Findings

    def read(self, value: Mapping[Any, Any], place: Place) -> tuple[NumaNodeInfo, ...]:
        key = "numa_nodes" if "numa_nodes" in value else "nodes"
        if "numa_nodes" in value and "nodes" in value:
            self.findings.add(
                input_error.Conflict(
                    "'nodes' and 'numa_nodes' cannot be combined; remove one of them",
                    where=place.location,
                )
            )
        entries = value.get(key)
        inner = place.member(key)
        if not isinstance(entries, list) or not entries:
            typed.wrong_type(entries, "a list of NUMA nodes, one at least", inner, self.findings)
            return ()
        if len(entries) > HIGHEST_NODE_ID + 1:
            self.findings.add(
                input_error.TooLarge(
                    f"the machine has {len(entries)} NUMA nodes; at most 1024 are possible",
                    where=inner.location,
                )
            )
            return ()
        numbering = machine_cpus.Numbering(self.findings)
        rows = self._matrix(value.get("distances"), len(entries), place.member("distances"))
        nodes = [
            self._node(entry, index, numbering, inner.item(index), len(entries))
            for index, entry in enumerate(entries)
        ]
        self._compare_ids(nodes, inner)
        return tuple(
            node if row is None else replace(node, distances=row)
            for node, row in zip(nodes, rows, strict=True)
        )

    def _node(
        self, entry: object, index: int, numbering: machine_cpus.Numbering, place: Place, count: int
    ) -> NumaNodeInfo:
        if not isinstance(entry, Mapping):
            typed.wrong_type(entry, "an object that describes a node", place, self.findings)
            return NumaNodeInfo(index, 0)
        typed.check_members(entry, _NODE, place, self.findings)
        node_id = machine_sizes.whole_number(
            entry.get("id", index), 0, HIGHEST_NODE_ID, place.member("id"), self.findings
        )
        memory = self._memory(entry, place)
        pages = machine_sizes.huge_pages(
            entry.get("hugepages"), place.member("hugepages"), self.findings
        )
        distances = entry.get("distances")
        row_place = place.member("distances")
        return NumaNodeInfo(
            # A node with an invalid id gets its index, so that checking can continue.
            node_id=index if node_id is None else node_id,
            memory_bytes=memory,
            hugepages=pages,
            cores=numbering.cores(entry, index, place),
            distances=None if distances is None else self._row(distances, count, row_place),
        )

    def _memory(self, entry: Mapping[Any, Any], place: Place) -> int:
        if "memory" in entry and "memory_bytes" in entry:
            self.findings.add(
                input_error.Conflict(
                    "'memory' and 'memory_bytes' cannot be combined; remove one of them",
                    where=place.location,
                )
            )
        key = "memory_bytes" if "memory_bytes" in entry else "memory"
        inner = place.member(key)
        if key not in entry:
            self.findings.add(
                input_error.Required(
                    "the node has no 'memory'; set its size, or 0 for a node without memory",
                    where=place.location,
                )
            )
            return 0
        read = machine_sizes.memory_bytes if key == "memory" else machine_sizes.size_bytes
        return read(entry[key], inner, self.findings) or 0

    def _row(self, value: object, count: int, place: Place) -> tuple[int, ...] | None:
        if not isinstance(value, list):
            typed.wrong_type(value, "a list of distances", place, self.findings)
            return None
        if len(value) != count:
            self.findings.add(
                input_error.Invalid(
                    f"the row has {len(value)} distances for {count} NUMA nodes",
                    expected="one distance for each node",
                    where=place.location,
                )
            )
            return None
        row = [
            machine_sizes.whole_number(each, 0, _FARTHEST, place.item(index), self.findings)
            for index, each in enumerate(value)
        ]
        return tuple(each or 0 for each in row)

    def _matrix(self, value: object, count: int, place: Place) -> list[tuple[int, ...] | None]:
        if value is None:
            return [None] * count
        if not isinstance(value, list) or len(value) != count:
            got = len(value) if isinstance(value, list) else typed.described(value)
            self.findings.add(
                input_error.Invalid(
                    f"the distances have {got} rows for {count} NUMA nodes",
                    expected="one row for each node",
                    where=place.location,
                )
            )
            return [None] * count
        return [self._row(row, count, place.item(index)) for index, row in enumerate(value)]

    def _compare_ids(self, nodes: list[NumaNodeInfo], place: Place) -> None:
        seen: set[int] = set()
        for index, node in enumerate(nodes):
            if node.node_id in seen:
                where = place.item(index).member("id").location
                self.findings.add(
                    input_error.Duplicate(f"two NUMA nodes have the id {node.node_id}", where=where)
                )
            seen.add(node.node_id)


def _view(nodes: tuple[NumaNodeInfo, ...], system: OperatingSystem) -> MachineInfo:
    cores = [core for node in nodes for core in node.cores]
    totals: dict[int, int] = {}
    for node in nodes:
        for page in node.hugepages:
            totals[page.page_size_kib] = totals.get(page.page_size_kib, 0) + page.count
    return MachineInfo(
        nodes=nodes,
        memory_capacity_bytes=sum(node.memory_bytes for node in nodes),
        cpu_count=sum(len(core.threads) for core in cores),
        socket_count=len({core.socket_id for core in cores}),
        # The kubelet lists page sizes in the order of their folder names, which is textual.
        hugepages=tuple(HugePages(size, totals[size]) for size in sorted(totals, key=str)),
        physical_core_count=len(cores),
        os=system,
    )
