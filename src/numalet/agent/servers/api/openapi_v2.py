"""The OpenAPI document of version 2, as far as kubectl before 1.27 needs one to go on.

It reads it as protocol buffers, checks whether a patch of a kind can be a dry run and whether
the server checks fields, and else checks objects by the types in it. Ours has none: objects are
checked here, when they come, and everything wrong with them is reported. Field numbers:
``openapi.v2`` of gnostic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

_POD: Final = "/api/v1/namespaces/{namespace}/pods/{name}"
_KIND: Final = {"group": "", "kind": "Pod", "version": "v1"}
_PARAMETERS: Final = ("dryRun", "fieldValidation")
_EXTENSION: Final = "x-kubernetes-group-version-kind"


def document(title: str, version: str) -> dict[str, Any]:
    """The document as JSON."""
    patch = {
        "parameters": [{"name": name, "in": "query", "type": "string"} for name in _PARAMETERS],
        "responses": {"200": {"description": "OK"}},
        _EXTENSION: _KIND,
    }
    return {
        "swagger": "2.0",
        "info": {"title": title, "version": version},
        "paths": {_POD: {"patch": patch}},
    }


def as_protobuf(title: str, version: str) -> bytes:
    """The same as the message ``openapi.v2.Document``."""
    parameters = b"".join(_field(8, _parameter(name)) for name in _PARAMETERS)
    kind = _field(1, _EXTENSION.encode()) + _field(2, _field(2, json.dumps(_KIND).encode()))
    patch = parameters + _field(9, b"") + _field(13, kind)
    path = _field(1, _POD.encode()) + _field(2, _field(8, patch))
    info = _field(1, title.encode()) + _field(2, version.encode())
    return _field(1, b"2.0") + _field(2, info) + _field(8, _field(2, path))


def _parameter(name: str) -> bytes:
    said = _field(2, b"query") + _field(4, name.encode()) + _field(6, b"string")
    # ParametersItem.parameter, Parameter.non_body_parameter, NonBodyParameter.query_...
    return _field(1, _field(2, _field(3, said)))


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes: its number and kind, its length, itself."""
    return bytes((number << 3 | 2, *_length(len(content)))) + content


def _length(size: int) -> Iterator[int]:
    while size > 0x7F:
        yield size & 0x7F | 0x80
        size >>= 7
    yield size
