"""Finds the first difference between a value and a declared type, in words of the document.

The sentence that msgspec reports is not stable enough to parse. So a refused value is compared
again here with ``msgspec.inspect``, in msgspec's order: present members, then missing ones. For
values without parts, such as numbers and times, msgspec decides again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import inspect

from numalet.core.model.value import Value, replace

_KINDS: Final[dict[type, tuple[str, Any]]] = {
    inspect.BoolType: ("true or false", bool),
    inspect.IntType: ("a whole number", int),
    inspect.FloatType: ("a number", float),
    inspect.StrType: ("a text", str),
    inspect.DateTimeType: ("a time such as 2026-01-31T12:00:00Z", datetime),
    inspect.NoneType: ("null", None),
}
"""Types without parts: their name in findings, and the Python type."""

_CONSTRAINTS: Final = (
    *("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length", "tz"),
)
_BOUNDS: Final = {
    "ge": "of at least {}",
    "gt": "above {}",
    "le": "of at most {}",
    "lt": "below {}",
    "multiple_of": "that {} divides",
    "pattern": "that matches {}",
    "min_length": "of at least {} characters",
    "max_length": "of at most {} characters",
}
_ARRAYS: Final = (list, tuple, set, frozenset)
_LISTS: Final = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
_OBJECTS: Final = (inspect.StructType, inspect.DataclassType, inspect.DictType)
_LIST: Final = "a list"
_OBJECT: Final = "an object"
_KEYS: Final = "an object with texts as member names"


class TypeMismatch(Value):
    """The first difference; ``path`` begins at the checked value.

    ``got`` is the kind of the value; if empty, the kind is right but ``value`` is not allowed. If
    ``missing`` names an absent member, nothing else is set.
    """

    path: str = ""
    expected: str = ""
    got: str = ""
    value: object = None
    missing: str = ""


def first(value: object, shape: Any) -> TypeMismatch | None:
    return _first(value, _info(shape))


@cache
def _info(shape: Any) -> inspect.Type:
    return inspect.type_info(shape)


def _first(value: object, declared: inspect.Type) -> TypeMismatch | None:
    match declared:
        case inspect.AnyType() | inspect.RawType():
            return None
        case inspect.Metadata():
            return _first(value, declared.type)
        case inspect.UnionType():
            return _in_union(value, declared)
        case _ if isinstance(declared, _OBJECTS) and isinstance(value, Mapping):
            return _in_object(value, declared)
        case inspect.TupleType() if isinstance(value, _ARRAYS):
            if len(value) != len(declared.item_types):
                expected = f"{_LIST} of {len(declared.item_types)}"
                return TypeMismatch(expected=expected, got=f"{_LIST} of {len(value)}")
            return _in_list(zip(value, declared.item_types, strict=True))
        case _ if isinstance(declared, _LISTS) and isinstance(value, _ARRAYS):
            return _in_list((each, declared.item_type) for each in value)
        case _:
            return None if _fits(value, declared) else _here(value, declared)


def _in_union(value: object, declared: inspect.UnionType) -> TypeMismatch | None:
    mismatches = [(each, _first(value, each)) for each in declared.types]
    if any(mismatch is None for _, mismatch in mismatches):
        return None
    # Report the alternative of the same kind, since the user most likely meant that one.
    for each, mismatch in mismatches:
        if _kind(value) == _name(each):
            return mismatch
    wanted = [each for each in declared.types if not isinstance(each, inspect.NoneType)]
    return TypeMismatch(expected=" or ".join(_name(each) for each in wanted), got=_kind(value))


def _in_object(
    value: Mapping[Any, Any],
    declared: inspect.StructType | inspect.DataclassType | inspect.DictType,
) -> TypeMismatch | None:
    if not isinstance(declared, inspect.DictType):
        types = {each.encode_name: each.type for each in declared.fields}
        needed = [each.encode_name for each in declared.fields if each.required]
        anything: inspect.Type = inspect.AnyType()
    else:
        types, needed, anything = {}, [], declared.value_type
    for name, member in value.items():
        if not isinstance(name, str):
            return TypeMismatch(expected=_KEYS, got="another kind of name")
        mismatch = _first(member, types.get(name, anything))
        if mismatch is not None:
            return replace(mismatch, path=f".{name}{mismatch.path}")
    missing = next((name for name in needed if name not in value), None)
    return None if missing is None else TypeMismatch(missing=missing)


def _in_list(items: Iterator[tuple[object, inspect.Type]]) -> TypeMismatch | None:
    for index, (item, declared) in enumerate(items):
        mismatch = _first(item, declared)
        if mismatch is not None:
            return replace(mismatch, path=f"[{index}]{mismatch.path}")
    return None


def _here(value: object, declared: inspect.Type) -> TypeMismatch:
    kind, name = _kind(value), _name(declared)
    # msgspec converts integers to floats.
    is_of_kind = kind == name or (isinstance(declared, inspect.FloatType) and _is_int(value))
    if is_of_kind:
        return TypeMismatch(expected=_allowed(declared), value=value)
    is_time = isinstance(declared, inspect.DateTimeType)
    return TypeMismatch(expected=_allowed(declared) if is_time else name, got=kind)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _name(declared: inspect.Type) -> str:
    """The name of this type in findings; times and choices are texts in a document."""
    match declared:
        case _ if isinstance(declared, _OBJECTS):
            return _OBJECT
        case inspect.DateTimeType() | inspect.EnumType() | inspect.LiteralType():
            return _KINDS[inspect.StrType][0]
        case _:
            return _KINDS.get(type(declared), (_LIST, None))[0]


def _allowed(declared: inspect.Type) -> str:
    match declared:
        case inspect.EnumType():
            return "one of " + ", ".join(str(each.value) for each in declared.cls)
        case inspect.LiteralType():
            return "one of " + ", ".join(map(str, declared.values))
        case inspect.DateTimeType():
            return _KINDS[inspect.DateTimeType][0]
        case _:
            bounds = [
                _BOUNDS[name].format(bound)
                for name, bound in _constraints(declared).items()
                if name in _BOUNDS
            ]
            return f"{_name(declared)} {' and '.join(bounds)}".strip()


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return _KINDS[inspect.BoolType][0]
        case int():
            return _KINDS[inspect.IntType][0]
        case float():
            return _KINDS[inspect.FloatType][0]
        case str():
            return _KINDS[inspect.StrType][0]
        case Mapping():
            return _OBJECT
        case list() | tuple() | set() | frozenset():
            return _LIST
        case _:
            return type(value).__name__


def _fits(value: object, declared: inspect.Type) -> bool:
    try:
        msgspec.convert(value, _plain(declared))
    except (msgspec.ValidationError, UnicodeEncodeError):
        return False
    return True


def _plain(declared: inspect.Type) -> Any:
    match declared:
        case inspect.EnumType():
            return declared.cls
        case inspect.LiteralType():
            return Literal[tuple(declared.values)]
        case (
            inspect.StructType()
            | inspect.DataclassType()
            | inspect.NamedTupleType()
            | inspect.CustomType()
        ):
            return declared.cls
        case inspect.DictType():
            return dict
        case _ if isinstance(declared, (inspect.TupleType, *_LISTS)):
            return list
        case _:
            return Annotated[_KINDS[type(declared)][1], msgspec.Meta(**_constraints(declared))]


def _constraints(declared: inspect.Type) -> dict[str, Any]:
    bounds = {name: getattr(declared, name, None) for name in _CONSTRAINTS}
    return {name: bound for name, bound in bounds.items() if bound is not None}
