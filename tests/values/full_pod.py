"""A Pod object with a value for every field of the table, made from the table itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from numalet.io.documents.pods.pod_table.kinds import (
    Kind,
    ListOf,
    MapOf,
    ObjectType,
    PlainKind,
    TextKind,
    Whole,
)
from numalet.io.documents.pods.pod_table.table import POD

HUGE: Final = 2**70
ODD: Final[tuple[Any, ...]] = (
    *(None, True, 0, 5, -1, 2**31, HUGE, 3.9, float("nan"), float("inf")),
    *("", "x", "3.9", "\ud800", "a\0b", "9999-99-99", "n" * 300),
    *([], ["x"], [None], [[]], {}, {"x": "y"}, {"name": 5}, [{}], [{"name": "x"}]),
)
"""One value and more of every type that a document can have, in places where they do not belong."""


def full_pod() -> dict[str, Any]:
    """A pod with every field, as far as fields go together."""
    pod: dict[str, Any] = of_kind(POD, "")
    pod |= {"apiVersion": "v1", "kind": "Pod"}
    pod["metadata"] |= {"name": "web", "namespace": "default", "uid": "u-1"}
    return pod


def of_kind(kind: Kind, name: str) -> Any:
    """A value of this kind."""
    match kind:
        case ObjectType():
            return {each: of_kind(field.kind, each) for each, field in kind.fields.items()}
        case ListOf():
            return [of_kind(kind.item, name)]
        case MapOf():
            return {"cpu" if kind.value is PlainKind.QUANTITY else "a": of_kind(kind.value, name)}
        case Whole():
            return max(kind.least, 1)
        case TextKind():
            return kind.allowed[0] if kind.allowed else "a"
        case PlainKind.FLAG:
            return True
        case PlainKind.INT_OR_TEXT:
            return 80
        case PlainKind.QUANTITY:
            return "1"
        case PlainKind.MOMENT:
            return "2026-01-28T12:00:00Z"
        case PlainKind.OBJECT:
            return {"f:x": {}}


def replaced(value: Any) -> Iterator[tuple[str, Any]]:
    """The value with every part in turn in the place of which something odd stands.

    Everything is shared but what is on the way to the part.
    """
    yield from _replaced(value, "$")


def _replaced(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    for odd in ODD:
        yield f"{path} = {odd!r:.40}", odd
    if isinstance(value, dict):
        for name, member in value.items():
            for where, changed in _replaced(member, f"{path}.{name}"):
                yield where, {**value, name: changed}
        yield f"{path}.unheardOf", {**value, "unheardOf": 1}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for where, changed in _replaced(item, f"{path}[{index}]"):
                yield where, [*value[:index], changed, *value[index + 1 :]]
