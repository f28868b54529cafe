"""JSON Schemas (draft 2020-12) of documents, made from the types that describe these.

A *document* is what a command prints with ``-o json``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from numalet.core.model.value import OneOf as OneOf
from numalet.core.model.value import OutputDocument as OutputDocument

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

Schema: TypeAlias = dict[str, Any]


def plain(document: Struct) -> dict[str, Any]:
    """Return the document as JSON: mappings, lists, texts, numbers, true, false and null."""
    members: dict[str, Any] = _listed(
        msgspec.to_builtins(document, str_keys=True, enc_hook=_builtin)
    )
    return members


def _listed(value: Any) -> Any:
    """Return the value with lists in place of tuples."""
    if isinstance(value, dict):
        return {name: _listed(each) for name, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list | tuple) else value


def _builtin(value: object) -> str | dict[Any, Any]:
    """Return a subclass of ``str``, such as one that Go would quote, or a read-only mapping."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a document has no place for {value!r}")


def of(*types: type[Any]) -> Schema:
    schemas, parts = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    published: Schema = _published({"$schema": DIALECT, **schema, "$defs": parts})
    return published


def _published(value: Any) -> Any:
    """Return the same with tidy texts, and without forbidding undescribed fields."""
    match value:
        case dict():
            return {
                name: inspect.cleandoc(each)
                if name == "description" and isinstance(each, str)
                else _published(each)
                for name, each in value.items()
                # The types are strict, so that tests notice an undescribed field. The schemas are
                # not: a release may add a field, or a key of a mapping, without a new number, and
                # validating readers must accept it. msgspec names the keys since 0.23.
                if not (name == "additionalProperties" and each is False)
                and name != "propertyNames"
            }
        case list():
            return [_published(each) for each in value]
        case _:
            return value
