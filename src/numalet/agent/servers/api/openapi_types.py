"""The OpenAPI types, as ``kubectl explain`` shows them.

Clients find types by name, so the names are Kubernetes'. Pod types come from ``pod_table``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from numalet.io.documents.pods.pod_table.kinds import (
    INT32,
    INT64,
    Field,
    FieldUse,
    Kind,
    ListOf,
    MapOf,
    ObjectType,
    PlainKind,
    TextKind,
    Whole,
    reached,
)
from numalet.io.documents.pods.pod_table.table import POD as POD_TYPE
from numalet.wording import kubernetes_api as words

_CORE: Final = "io.k8s.api.core.v1."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_OF_META: Final = frozenset(
    {
        "LabelSelector",
        "LabelSelectorRequirement",
        "ManagedFieldsEntry",
        "ObjectMeta",
        "OwnerReference",
    }
)
POD: Final = f"{_CORE}Pod"
POD_LIST: Final = f"{_CORE}PodList"
STATUS: Final = f"{_META}Status"
OBJECT: Final = f"{_META}Object"
LIST: Final = f"{_META}ObjectList"

_TEXT: Final = {"type": "string"}


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_ANSWERS: Final[Mapping[str, Mapping[str, Any]]] = {
    POD_LIST: {
        "apiVersion": {"type": "string", "enum": ["v1"]},
        "kind": {"type": "string", "enum": ["PodList"]},
        "metadata": {"type": "object"},
        "items": {"type": "array", "items": ref(POD)},
    },
    OBJECT: {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"type": "object"}},
    LIST: {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "metadata": {"type": "object"},
        "items": {"type": "array", "items": {"type": "object"}},
    },
    STATUS: {
        "apiVersion": {"type": "string", "enum": ["v1"]},
        "kind": {"type": "string", "enum": ["Status"]},
        "status": {"type": "string", "enum": ["Failure"]},
        "code": {"type": "integer", "minimum": 400, "maximum": 599},
        "reason": _TEXT,
        "message": _TEXT,
    },
}
"""Response types outside a Pod."""

_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    POD_LIST: ("apiVersion", "kind", "metadata", "items"),
    LIST: ("apiVersion", "kind", "metadata", "items"),
    OBJECT: ("kind",),
    STATUS: ("apiVersion", "kind", "status", "code", "reason", "message"),
}
_FIXED: Final[Mapping[str, str]] = {"apiVersion": "v1", "kind": "Pod"}
"""Pod fields with a constant value."""

_USES: Final[Mapping[FieldUse, str]] = {
    FieldUse.HONOURED: "",
    FieldUse.KEPT: words.KEPT,
    FieldUse.WARNED: words.WARNED,
    FieldUse.IGNORED: words.IGNORED,
    FieldUse.REFUSED: words.REFUSED,
}
_PLAIN: Final[Mapping[PlainKind, Mapping[str, Any]]] = {
    PlainKind.FLAG: {"type": "boolean"},
    PlainKind.INT_OR_TEXT: {
        "x-kubernetes-int-or-string": True,
        "oneOf": [{"type": "integer", "format": "int32"}, _TEXT],
    },
    PlainKind.QUANTITY: {"oneOf": [_TEXT, {"type": "number"}]},
    # Go encodes an unset time as null.
    PlainKind.MOMENT: {"type": "string", "format": "date-time", "nullable": True},
    PlainKind.OBJECT: {"type": "object"},
}


def kind(name: str) -> dict[str, str]:
    return {"group": "", "kind": name, "version": "v1"}


@lru_cache(maxsize=1)
def schemas() -> Mapping[str, Any]:
    return {
        **{_full_name(each): _schema(each, uses) for each, uses in reached(POD_TYPE)},
        **dict(_answers()),
    }


def _answers() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, properties in _ANSWERS.items():
        text = words.ANSWERS[name.rpartition(".")[2]]
        schema: dict[str, Any] = {"type": "object", "description": text}
        schema |= {"properties": dict(properties), "required": list(_REQUIRED[name])}
        if name == POD_LIST:
            schema["x-kubernetes-group-version-kind"] = [kind("PodList")]
        yield name, schema


def _full_name(given: ObjectType) -> str:
    return f"{_META if given.name in _OF_META else _CORE}{given.name}"


def _schema(given: ObjectType, uses: frozenset[FieldUse]) -> dict[str, Any]:
    """``uses`` are the uses of all fields with this type."""
    only = next(iter(uses)) if len(uses) == 1 else FieldUse.HONOURED
    schema: dict[str, Any] = {
        "type": "object",
        "description": given.words or _USES[only] or words.PART,
        "properties": {name: _property(each) for name, each in given.fields.items()},
    }
    needed = [name for name, each in given.fields.items() if each.is_needed]
    if given is POD_TYPE:
        needed = ["metadata", "spec"]
        schema["x-kubernetes-group-version-kind"] = [kind("Pod")]
        for name, value in _FIXED.items():
            schema["properties"][name]["enum"] = [value]
    if needed and not given.is_of_servers:
        schema["required"] = needed
    return schema


def _property(field: Field) -> dict[str, Any]:
    schema = _kind(field.kind)
    text = _description(field)
    if not text:
        return schema
    # JSON Schema ignores other keys next to "$ref".
    return {**({"allOf": [schema]} if "$ref" in schema else schema), "description": text}


def _description(field: Field) -> str:
    use = _USES[field.use] if field.use is not None else ""
    rule = words.UNDER_RULE.format(rule=field.rule) if field.rule else ""
    release = words.SINCE.format(release=field.since) if field.since else ""
    parts = (field.words, rule, "" if field.use is FieldUse.KEPT and field.words else use, release)
    return " ".join(part for part in parts if part)


def _kind(given: Kind) -> dict[str, Any]:
    match given:
        case ObjectType():
            return ref(_full_name(given))
        case ListOf():
            return {"type": "array", "items": _kind(given.item)}
        case MapOf():
            return {"type": "object", "additionalProperties": _kind(given.value)}
        case Whole():
            width = "int32" if given.most < 2**31 else "int64"
            schema: dict[str, Any] = {"type": "integer", "format": width}
            if (given.least, given.most) not in (INT32, INT64):
                schema |= {"minimum": given.least, "maximum": given.most}
            return schema
        case PlainKind():
            return dict(_PLAIN[given])
        case TextKind():
            return _text(given)


def _text(given: TextKind) -> dict[str, Any]:
    """An empty text means unset, so no minimum length."""
    schema: dict[str, Any] = dict(_TEXT)
    if given.allowed:
        schema["enum"] = list(given.allowed)
    if given.pattern:
        schema["pattern"] = f"^{given.pattern}$"
    if given.most is not None:
        schema["maxLength"] = given.most
    return schema
