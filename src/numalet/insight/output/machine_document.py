"""Guest topologies as documents: ``numalet lab list -o json``."""

from __future__ import annotations

from typing import Literal

from numalet.core.model.value import OutputDocument


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
