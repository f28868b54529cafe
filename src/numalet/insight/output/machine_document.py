"""Machines as documents: ``numalet machine -o json`` and ``numalet lab list -o json``.

CPU lists are texts such as ``0-3,8``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypedDict, cast

from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding
from numalet.core.model.input_error import InputFinding
from numalet.core.model.machine_info import HugePages, OperatingSystem
from numalet.core.model.machine_queries import NodeClass
from numalet.insight.maps.machine_map import MachineMap, MachineNodeRow, ProfileRow, View
from numalet.insight.output.json_schema import OutputDocument
from numalet.insight.simulate import recording


class GuestNodeDocument(OutputDocument):
    """A NUMA node; ``distances`` is null if the firmware has no distances."""

    id: int
    cpus: str
    memory_bytes: int
    distances: list[int] | None


class TopologyDocument(OutputDocument):
    """A topology. CPU lists are texts such as ``0-3,8``."""

    name: str
    summary: str
    packages: int
    threads_per_core: int
    numa_nodes: list[GuestNodeDocument]


class LabListDocument(OutputDocument):
    """All named topologies."""

    schema: Literal["numalet.lab-list/1"]
    topologies: list[TopologyDocument]


class PagesDocument(OutputDocument):
    """Huge pages of one size."""

    page_size_kib: int
    count: int


class MachineNodeDocument(OutputDocument, rename={"node_class": "class"}):
    """A NUMA node, and the sockets of its CPUs. Unknown values are null.

    ``class`` is ``cpu`` with CPUs and memory, ``memory`` without CPUs, ``empty`` without memory.
    """

    id: int
    node_class: NodeClass
    sockets: list[int]
    cpus: str
    offline_cpus: str
    cores: int
    memory_bytes: int | None
    hugepages: list[PagesDocument]
    distances: list[int] | None


class NoteDocument(TypedDict):
    """An unusual property of the machine: code and text; its figures are further members."""

    code: str
    text: str


class MachineDocument(OutputDocument):
    """A machine from the view of the hardware or of the kubelet (``view``).

    ``sockets``, ``cores`` and ``cpus`` are counts. ``description`` is the kubelet's view, core by
    core, in the form of a recorded scenario: ``-m`` reads it from this document.
    """

    schema: Literal["numalet.machine/1"]
    view: View
    source: str
    os: OperatingSystem
    sockets: int
    cores: int
    cpus: int
    offline_cpus: str
    memory_bytes: int
    hugepages: list[PagesDocument]
    numa_nodes: list[MachineNodeDocument]
    notes: list[NoteDocument]
    description: dict[str, Any]


class MachineDevicesDocument(OutputDocument):
    """The number of devices of a resource."""

    resource: str
    count: int


class ProfileDocument(OutputDocument):
    """A machine profile: its size, a description, and the source of its figures."""

    name: str
    numa_nodes: int
    nodes_with_cpus: int
    nodes_with_memory: int
    cpus: int
    memory_bytes: int
    devices: list[MachineDevicesDocument]
    about: str
    figures: str


class ProfilesDocument(OutputDocument):
    """All machine profiles, by name."""

    schema: Literal["numalet.machine-profiles/1"]
    profiles: list[ProfileDocument]


def machine(chart: MachineMap) -> MachineDocument:
    return MachineDocument(
        schema="numalet.machine/1",
        view=chart.view,
        source=chart.source,
        os=chart.os,
        sockets=chart.socket_count,
        cores=chart.core_count,
        cpus=chart.cpu_count,
        offline_cpus=cpu_set.text(chart.offline_cpus),
        memory_bytes=chart.memory_bytes,
        hugepages=_pages(chart.hugepages),
        numa_nodes=[_node(row) for row in chart.nodes],
        notes=[_note(note) for note in chart.notes],
        description=recording.machine_document(chart.seen),
    )


def _node(row: MachineNodeRow) -> MachineNodeDocument:
    return MachineNodeDocument(
        id=row.node_id,
        node_class=row.node_class,
        sockets=list(row.sockets),
        cpus=cpu_set.text(row.cpus),
        offline_cpus=cpu_set.text(row.offline_cpus),
        cores=row.core_count,
        memory_bytes=row.memory_bytes,
        hugepages=_pages(row.hugepages),
        distances=None if row.distances is None else list(row.distances),
    )


def _note(note: Finding) -> NoteDocument:
    figures = {} if isinstance(note, InputFinding) else note.fields
    named = {"code": note.code, **figures, "text": str(note)}
    return cast("NoteDocument", named)


def _pages(pages: Iterable[HugePages]) -> list[PagesDocument]:
    return [PagesDocument(page.page_size_kib, page.count) for page in pages]


def profiles(rows: Iterable[ProfileRow]) -> ProfilesDocument:
    return ProfilesDocument("numalet.machine-profiles/1", [_profile(row) for row in rows])


def _profile(row: ProfileRow) -> ProfileDocument:
    return ProfileDocument(
        name=row.name,
        numa_nodes=row.numa_nodes,
        nodes_with_cpus=row.nodes_with_cpus,
        nodes_with_memory=row.nodes_with_memory,
        cpus=row.cpus,
        memory_bytes=row.memory_bytes,
        devices=[MachineDevicesDocument(*each) for each in row.device_counts],
        about=row.about,
        figures=row.figures,
    )
