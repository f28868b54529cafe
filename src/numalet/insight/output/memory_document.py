"""Memory types, in the same form in the documents of several commands."""

from __future__ import annotations

from collections.abc import Iterable

from numalet.insight.maps.resource_maps import TypeRow
from numalet.insight.output.json_schema import OutputDocument


class TypeDocument(OutputDocument):
    """One memory type: of a NUMA node, or of all nodes of a group."""

    resource: str
    total_bytes: int
    system_reserved_bytes: int
    allocatable_bytes: int
    reserved_bytes: int
    free_bytes: int


def types(rows: Iterable[TypeRow]) -> list[TypeDocument]:
    return [
        TypeDocument(
            resource=row.resource,
            total_bytes=row.total_bytes,
            system_reserved_bytes=row.system_reserved_bytes,
            allocatable_bytes=row.allocatable_bytes,
            reserved_bytes=row.reserved_bytes,
            free_bytes=row.free_bytes,
        )
        for row in rows
    ]
