"""Value: the base of every immutable record; ``replace``, and ``without_keys`` for mappings.

A value is an immutable ``msgspec.Struct``; its annotations are its fields. It works like a frozen
dataclass, at a tenth of the cost to construct and replace, and a thirtieth to define
(docs/decisions/0024). ``class X(Value, dict=True)`` may have ``cached_property``.
``dataclasses.replace``, ``fields``, ``asdict`` and ``is_dataclass`` also accept values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeAlias,
    TypeVar,
    TypeVarTuple,
    dataclass_transform,
)

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, field, structs

if TYPE_CHECKING:
    # Type checkers compare the names and types of the replaced fields with those of this one.
    from dataclasses import replace
else:
    from msgspec.structs import replace

__all__ = [
    "UNSET",
    "Meta",
    "Mutable",
    "OneOf",
    "OutputDocument",
    "ShownValue",
    "UnsetType",
    "Value",
    "field",
    "kept",
    "replace",
    "without_keys",
]

K = TypeVar("K")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _AsDataclass:
    """A dataclass attribute, taken from a dataclass with the same fields.

    Built on first access, because few classes need it.
    """

    def __set_name__(self, owner: type[Struct], name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[Struct]) -> Any:
        return getattr(_dataclass_like(owner), self._name)


@cache
def _dataclass_like(owner: type[Struct]) -> type[object]:
    written = {
        name: text
        for each in reversed(owner.__mro__)
        for name, text in vars(each).get("__annotations__", {}).items()
    }
    return dataclasses.make_dataclass(
        owner.__name__,
        [(each.name, written[each.name], _field(each)) for each in structs.fields(owner)],
        kw_only=True,
        frozen=True,
    )


def _field(of: structs.FieldInfo) -> Any:
    if of.default_factory is not NODEFAULT:
        return dataclasses.field(default_factory=of.default_factory)
    if of.default is NODEFAULT:
        return dataclasses.field()
    default = of.default
    if type(default).__hash__ is None:
        # A dataclass accepts only hashable defaults.
        return dataclasses.field(default_factory=lambda: default)
    return dataclasses.field(default=default)


def kept(value: Value, name: str, make: Callable[[*Ts], T], *of: *Ts) -> T:
    """Return ``make(*of)``, computed once and cached in the value, which has ``dict=True``.

    The result must not be None. For values that a higher layer computes; ``cached_property`` is for
    those that the class itself computes.
    """
    place = value.__dict__
    made: T | None = place.get(name)
    if made is None:
        made = place[name] = make(*of)
    return made


def without_keys(mapping: Mapping[K, T], keys: Iterable[K]) -> dict[K, T]:
    """Return a copy without these keys; faster than a comprehension."""
    copy = dict(mapping)
    for key in keys:
        copy.pop(key, None)
    return copy


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Value(Struct, frozen=True):
    """An immutable record; see the module."""

    __dataclass_fields__ = _AsDataclass()
    __dataclass_params__ = _AsDataclass()


if TYPE_CHECKING:

    class ShownValue(Value):
        """A value that notebooks show; ``numalet.notebook`` gives its class these methods."""

        def to_rows(self) -> list[dict[str, Any]]:
            """Rows for a data frame."""
            return []

        def _repr_html_(self) -> str:
            return ""

else:
    ShownValue = Value


@dataclass_transform(field_specifiers=(field,))
class Mutable(Struct):
    """A mutable record with a short life; compared by its fields."""

    __dataclass_fields__ = _AsDataclass()
    __dataclass_params__ = _AsDataclass()


class OutputDocument(Struct, forbid_unknown_fields=True):
    """A part of a document that has these fields and no others."""


OneOf: TypeAlias = Annotated[T, Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})]
"""A part with exactly one field; its name says what the part is."""
