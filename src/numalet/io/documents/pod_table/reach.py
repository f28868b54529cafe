"""The types that a type is made of, and by fields of what use they are reached."""

from __future__ import annotations

from collections.abc import Iterator

from numalet.io.documents.pod_table.kinds import FieldUse, Kind, ListOf, MapOf, ObjectType


def types(root: ObjectType) -> tuple[tuple[ObjectType, frozenset[FieldUse]], ...]:
    """All types of the root in the order in which they are met, itself first.

    A field without a use of its own has that of the field by which its type was reached.
    """
    order: dict[str, ObjectType] = {}
    uses: dict[str, set[FieldUse]] = {}
    open_types = [(root, FieldUse.HONOURED)]
    while open_types:
        kind, use = open_types.pop(0)
        if use in uses.setdefault(kind.name, set()):
            continue
        uses[kind.name].add(use)
        order.setdefault(kind.name, kind)
        for field in kind.fields.values():
            open_types += [(each, field.use or use) for each in _objects(field.kind)]
    return tuple((kind, frozenset(uses[name])) for name, kind in order.items())


def _objects(kind: Kind) -> Iterator[ObjectType]:
    match kind:
        case ObjectType():
            yield kind
        case ListOf():
            yield from _objects(kind.item)
        case MapOf():
            yield from _objects(kind.value)
        case _:
            return
