"""The Go types of KubeletConfiguration v1beta1, and Go's error for a value of a wrong type.

Go's ``encoding/json`` names the innermost struct and the field names on the way down, without list
indices and map keys. Types with their own UnmarshalJSON have their own errors: durations accept a
text, quantities any value. Kubelet v1.32 with Go 1.23: ``decodeState.addErrorContext``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from numalet.core.config import kubelet_fields
from numalet.core.model.value import Value


class Scalar(Value):
    """A text, a boolean or a number; ``kind`` is the basic Go type of ``name``."""

    name: str
    kind: str
    words: str
    is_duration: bool = False


_LISTS: Final = {"[]string": "a list of texts", "[]int32": "a list of whole numbers"}


class Listed(Value):
    """A Go slice."""

    name: str
    element: GoType

    @property
    def words(self) -> str:
        return _LISTS.get(self.name, "a list of mappings")


class Mapped(Value):
    """A Go map with string keys."""

    name: str
    element: GoType

    @property
    def words(self) -> str:
        element = self.element
        return "a mapping of texts to " + (
            {"string": "texts", "bool": "true or false"}.get(element.name, "lists of texts")
            if isinstance(element, Scalar | Listed)
            else "quantities"
        )


class Struct(Value):
    """A Go struct; ``short`` is its name without the package."""

    name: str
    fields: Mapping[str, GoType]

    @property
    def words(self) -> str:
        return "a mapping with " + ", ".join(self.fields)

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]


class Anything(Value):
    """A type with its own UnmarshalJSON, which accepts or refuses any value."""


_Checked: TypeAlias = Scalar | Listed | Mapped | Struct
GoType: TypeAlias = _Checked | Anything


class Mismatch(Value):
    """A value of a wrong type: Go's error, and the expected type."""

    go_text: str
    expected: _Checked
    value: object

    @property
    def range(self) -> range | None:
        """The range of the expected type for a whole number outside it."""
        is_number = isinstance(self.value, int) and not isinstance(self.value, bool)
        kind = self.expected.kind if isinstance(self.expected, Scalar) else ""
        return _RANGES.get(kind) if is_number else None


def mismatches(config: Mapping[str, object]) -> dict[str, Mismatch]:
    """Every value of a wrong type, by its path (``reservedMemory[0].limits``)."""
    return dict(_of_struct(CONFIGURATION, config, "", ()))


def _of_struct(
    struct: Struct, value: Mapping[Any, object], path: str, names: tuple[str, ...]
) -> Iterator[tuple[str, Mismatch]]:
    for name, expected in struct.fields.items():
        given = value.get(name)
        if given is not None:
            at = f"{path}.{name}" if path else name
            yield from _of_value(expected, given, at, _Context(struct.short, (*names, name)))


class _Context(Value):
    struct: str
    names: tuple[str, ...]


def _of_value(
    expected: GoType, value: object, path: str, context: _Context
) -> Iterator[tuple[str, Mismatch]]:
    match expected, value:
        case (Anything(), _) | (_, None):
            return
        case Struct(), dict():
            yield from _of_struct(expected, value, path, context.names)
        case Listed(_, element), list():
            for at, each in enumerate(value):
                # The context stays: Go's error has no list index and no map key.
                yield from _of_value(element, each, f"{path}[{at}]", context)
        case Mapped(_, element), dict():
            for key, each in value.items():
                yield from _of_value(element, each, f"{path}.{key}", context)
        case Scalar(_, kind), _ if _is_of(kind, value):
            return
        case _:
            text = (
                f"json: cannot unmarshal {_described(expected, value)} into Go struct field"
                f" {context.struct}.{'.'.join(context.names)} of type {expected.name}"
            )
            yield path, Mismatch(text, expected, value)


_RANGES: Final[Mapping[str, range]] = {
    "int32": range(-(2**31), 2**31),
    "int64": range(-(2**63), 2**63),
    "uint32": range(2**32),
}


def _is_of(kind: str, value: object) -> bool:
    if isinstance(value, bool):
        return kind == "bool"
    if isinstance(value, str):
        return kind == "string"
    if isinstance(value, int):
        return kind == "float64" or value in _RANGES.get(kind, ())
    return isinstance(value, float) and kind == "float64"


def _described(expected: GoType, value: object) -> str:
    kind = go_kind(value)
    accepts_numbers = isinstance(expected, Scalar) and expected.kind in _RANGES
    # Go names the number itself only if the field has a numeric type.
    return f"number {value}" if kind == "number" and accepts_numbers else kind


def go_kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def as_json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


_TEXT: Final = "a text (put it in quotes)"
_WHOLE: Final = "a whole number"
_SCALARS: Final = {
    "string": Scalar("string", "string", _TEXT),
    "bool": Scalar("bool", "bool", "true or false"),
    "int32": Scalar("int32", "int32", _WHOLE),
    "int64": Scalar("int64", "int64", _WHOLE),
    "float64": Scalar("float64", "float64", "a number"),
    # v1.Duration decodes a string, so Go's error says "string".
    "duration": Scalar("string", "string", "a duration such as '100ms'", is_duration=True),
    "v1.VerbosityLevel": Scalar("v1.VerbosityLevel", "uint32", _WHOLE),
}
_STRUCTS: Final = {
    "v1beta1.KubeletAuthentication": "x509:v1beta1.KubeletX509Authentication"
    " webhook:v1beta1.KubeletWebhookAuthentication"
    " anonymous:v1beta1.KubeletAnonymousAuthentication",
    "v1beta1.KubeletX509Authentication": "clientCAFile:string",
    "v1beta1.KubeletWebhookAuthentication": "enabled:bool cacheTTL:duration",
    "v1beta1.KubeletAnonymousAuthentication": "enabled:bool",
    "v1beta1.KubeletAuthorization": "mode:v1beta1.KubeletAuthorizationMode"
    " webhook:v1beta1.KubeletWebhookAuthorization",
    "v1beta1.KubeletWebhookAuthorization": "cacheAuthorizedTTL:duration"
    " cacheUnauthorizedTTL:duration",
    "v1.LoggingConfiguration": "format:string flushFrequency:any verbosity:v1.VerbosityLevel"
    " vmodule:v1.VModuleConfiguration options:v1.FormatOptions",
    "v1.VModuleItem": "filePattern:string verbosity:v1.VerbosityLevel",
    "v1.FormatOptions": "text:v1.TextOptions json:v1.JSONOptions",
    "v1.TextOptions": "splitStream:bool infoBufferSize:any",
    "v1.JSONOptions": "splitStream:bool infoBufferSize:any",
    "v1beta1.ShutdownGracePeriodByPodPriority": "priority:int32 shutdownGracePeriodSeconds:int64",
    "v1beta1.MemoryReservation": "numaNode:int32 limits:v1.ResourceList",
    "v1.Taint": "key:string value:string effect:v1.TaintEffect timeAdded:string",
    "v1beta1.CrashLoopBackOffConfig": "maxContainerRestartPeriod:duration",
    "v1beta1.MemorySwapConfiguration": "swapBehavior:string",
    "v1beta1.UserNamespaces": "idsPerPod:int64",
    "v1.TracingConfiguration": "endpoint:string samplingRatePerMillion:int32",
}


@cache
def of_name(name: str) -> GoType:
    """The type of this name; an unknown name is a string type."""
    if name == "any":
        return Anything()
    if name == "v1.VModuleConfiguration":
        return Listed(name, of_name("v1.VModuleItem"))
    if name == "v1.ResourceList":
        return Mapped(name, Anything())
    if name in _STRUCTS:
        members = (word.split(":") for word in _STRUCTS[name].split())
        return Struct(name, MappingProxyType({each: of_name(kind) for each, kind in members}))
    for prefix, made in (("[]", Listed), ("map[string]", Mapped)):
        if name.startswith(prefix):
            return made(name, of_name(name.removeprefix(prefix)))
    return _SCALARS.get(name) or Scalar(name, "string", _TEXT)


CONFIGURATION: Final = Struct(
    "v1beta1.KubeletConfiguration",
    MappingProxyType(
        {
            name: of_name(row.type)
            for name, row in kubelet_fields.FIELDS.items()
            if "." not in name and name not in ("apiVersion", "kind")
        }
    ),
)
"""The whole configuration without ``kind`` and ``apiVersion``, which are decoded before."""
