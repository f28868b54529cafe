"""What the documents of several commands say of memory in the same words."""

from __future__ import annotations

from numalet.insight.output.json_schema import OutputDocument


class TypeDocument(OutputDocument):
    """One memory type: of a NUMA node, or of all nodes of a group."""

    resource: str
    total_bytes: int
    system_reserved_bytes: int
    allocatable_bytes: int
    reserved_bytes: int
    free_bytes: int
