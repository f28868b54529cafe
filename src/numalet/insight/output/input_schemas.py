"""JSON Schemas of files that users write, made from the types that read them.

They forbid undescribed fields, so that an editor marks a typo.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from numalet.insight.output.json_schema import DIALECT, Schema
from numalet.io.documents import fleet_file_types, numalet_config_types
from numalet.io.documents.typed import PUBLISHED_AS

INPUTS: Final[Mapping[str, tuple[type[Any], ...]]] = MappingProxyType(
    {
        "fleet-file": fleet_file_types.PARTS,
        "numalet-configuration": numalet_config_types.PARTS,
    }
)
"""The types of a file by the name of its schema, that of the whole file first."""


def of(name: str) -> Schema:
    (whole, *_), parts = msgspec.json.schema_components(INPUTS[name], ref_template="#/$defs/{name}")
    schema: Schema = _published({"$schema": DIALECT, **whole, "$defs": parts})
    return schema


def _published(value: Any) -> Any:
    if isinstance(value, list):
        return [_published(each) for each in value]
    if not isinstance(value, dict):
        return value
    if PUBLISHED_AS in value:
        # Custom types are published in the form of the file; only their description is kept.
        kept = {name: value[name] for name in ("description", "default") if name in value}
        return {**kept, **value[PUBLISHED_AS]}
    shown = {name: _published(each) for name, each in value.items()}
    if "title" in value and "properties" in value:
        shown["additionalProperties"] = False
        shown["description"] = inspect.cleandoc(value["description"])
    return shown
