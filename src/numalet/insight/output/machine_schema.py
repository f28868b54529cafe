"""The schemas of ``numalet machine -o json``: of a machine, and of the list of profiles.

The reports build plain data; here its shape is written down once more as types, from which the
JSON Schema in ``docs/schemas`` is generated. CPU lists are texts such as ``0-3,8``.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.machine_queries import NodeClass
from numalet.insight.maps.machine_map import View
from numalet.insight.output import json_schema
from numalet.insight.output.json_schema import OutputDocument, Schema


class PagesDocument(OutputDocument):
    """Huge pages of one size."""

    page_size_kib: int
    count: int


class MachineNodeDocument(OutputDocument, rename={"node_class": "class"}):
    """A NUMA node; ``sockets`` are those its CPUs sit in. What is not known is null.

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


class NoteDocument(Struct):
    """What is odd, or will matter: a stable code, a sentence; the figures in it are beside."""

    code: str
    text: str


class MachineDocument(OutputDocument):
    """A machine as it is, or as the kubelet sees it.

    ``sockets``, ``cores`` and ``cpus`` are counts.
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


class MachineDevicesDocument(OutputDocument):
    """How many devices of a resource there are."""

    resource: str
    count: int


class ProfileDocument(OutputDocument):
    """A machine profile: how large the machine is, what it is like, whose figures it has."""

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


def profiles() -> Schema:
    """The JSON Schema of the list of profiles."""
    return json_schema.of(ProfilesDocument)


def machine() -> Schema:
    """The JSON Schema of a machine."""
    return json_schema.of(MachineDocument)
