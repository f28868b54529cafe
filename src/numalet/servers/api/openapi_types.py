"""The types of the OpenAPI document: what ``kubectl explain`` shows, and what answers look like.

Names are Kubernetes', since clients look types up by them. Members that are honoured say how;
for the others the tables of ``workload_fields`` say whether they are refused or ignored, so that
a type can not say otherwise than the reader of manifests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from numalet.adapters.documents import pod_fields, workload_fields
from numalet.servers.api.patches import MERGE_KEYS
from numalet.wording import english_explain_types as words

_CORE: Final = "io.k8s.api.core.v1."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
POD: Final = f"{_CORE}Pod"
POD_LIST: Final = f"{_CORE}PodList"
STATUS: Final = f"{_META}Status"
OBJECT: Final = f"{_META}Object"
LIST: Final = f"{_META}ObjectList"

_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "format": "int64"}
_FLAG: Final = {"type": "boolean"}
_WORDS: Final = {"type": "array", "items": _TEXT}
_TEXTS: Final = {"type": "object", "additionalProperties": _TEXT}
_AMOUNTS: Final = {
    "type": "object",
    "additionalProperties": {"oneOf": [{"type": "string"}, {"type": "number"}]},
}
_DNS: Final = {
    "type": "string",
    "pattern": r"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$",
}


def ref(name: str) -> dict[str, str]:
    """A reference to a type."""
    return {"$ref": f"#/components/schemas/{name}"}


def _each(name: str) -> dict[str, Any]:
    return {"type": "array", "items": ref(name)}


_TYPED: Final[Mapping[str, Mapping[str, Any]]] = {
    POD: {
        "apiVersion": {"type": "string", "enum": ["v1"]},
        "kind": {"type": "string", "enum": ["Pod"]},
        "metadata": ref(f"{_META}ObjectMeta"),
        "spec": ref(f"{_CORE}PodSpec"),
        "status": ref(f"{_CORE}PodStatus"),
    },
    f"{_META}ObjectMeta": {
        "name": _DNS,
        "generateName": _DNS,
        "namespace": _TEXT,
        "uid": _TEXT,
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "resourceVersion": _TEXT,
        "creationTimestamp": _TEXT,
        "deletionTimestamp": _TEXT,
    },
    f"{_CORE}PodSpec": {
        "containers": _each(f"{_CORE}Container"),
        "initContainers": _each(f"{_CORE}Container"),
        "restartPolicy": {"type": "string", "enum": ["Always", "OnFailure", "Never"]},
        "terminationGracePeriodSeconds": {**_COUNT, "minimum": 0, "maximum": 2**31 - 1},
        "priorityClassName": _TEXT,
        "overhead": _AMOUNTS,
        "nodeName": _TEXT,
        "securityContext": ref(f"{_CORE}SecurityContext"),
        "tolerations": {"type": "array", "items": {"type": "object"}},
    },
    f"{_CORE}Container": {
        "name": _DNS,
        "command": _WORDS,
        "args": _WORDS,
        "env": _each(f"{_CORE}EnvVar"),
        "workingDir": _TEXT,
        "resources": ref(f"{_CORE}ResourceRequirements"),
        "restartPolicy": {"type": "string", "enum": ["Always"]},
        "securityContext": ref(f"{_CORE}SecurityContext"),
        "image": _TEXT,
    },
    f"{_CORE}EnvVar": {"name": _TEXT, "value": _TEXT},
    f"{_CORE}ResourceRequirements": {"limits": _AMOUNTS, "requests": _AMOUNTS},
    f"{_CORE}SecurityContext": {
        "runAsUser": {**_COUNT, "minimum": 0},
        "runAsGroup": {**_COUNT, "minimum": 0},
        "runAsNonRoot": _FLAG,
    },
    f"{_CORE}PodStatus": {
        "phase": {"type": "string", "enum": list(pod_fields.PHASES)},
        "reason": _TEXT,
        "message": _TEXT,
        "qosClass": _TEXT,
        "startTime": _TEXT,
        "conditions": {"type": "array", "items": {"type": "object"}},
        "containerStatuses": {"type": "array", "items": {"type": "object"}},
        "initContainerStatuses": {"type": "array", "items": {"type": "object"}},
    },
    POD_LIST: {
        "apiVersion": {"type": "string", "enum": ["v1"]},
        "kind": {"type": "string", "enum": ["PodList"]},
        "metadata": {"type": "object"},
        "items": _each(POD),
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
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    POD: ("metadata", "spec"),
    POD_LIST: ("apiVersion", "kind", "metadata", "items"),
    LIST: ("apiVersion", "kind", "metadata", "items"),
    OBJECT: ("kind",),
    STATUS: ("apiVersion", "kind", "status", "code", "reason", "message"),
    f"{_CORE}PodSpec": ("containers",),
    f"{_CORE}Container": ("name",),
    f"{_CORE}EnvVar": ("name",),
}
_KNOWN: Final[Mapping[str, Iterable[str]]] = {
    f"{_CORE}PodSpec": pod_fields.SPEC,
    f"{_CORE}Container": pod_fields.CONTAINER,
}
_KINDS: Final = {POD: "Pod", POD_LIST: "PodList"}


def kind(name: str) -> dict[str, str]:
    """What a client knows an object by."""
    return {"group": "", "kind": name, "version": "v1"}


def schemas() -> dict[str, Any]:
    """All types by their names."""
    return {name: _schema(name, typed) for name, typed in _TYPED.items()}


def _schema(name: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    short = name.rpartition(".")[2]
    others = sorted(set(_KNOWN.get(name, ())) - typed.keys())
    found: dict[str, Any] = {
        "type": "object",
        "description": words.TYPES[short],
        "properties": {
            **{each: _described(short, each, of) for each, of in typed.items()},
            **{each: _other(each) for each in others},
        },
    }
    if name in _REQUIRED:
        found["required"] = list(_REQUIRED[name])
    if name in _KINDS:
        found["x-kubernetes-group-version-kind"] = [kind(_KINDS[name])]
    return found


def _described(short: str, member: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    text = words.MEMBERS.get((short, member), "")
    # Beside a reference nothing else counts.
    of = {"allOf": [typed]} if "$ref" in typed else {**typed, **_merged(member)}
    return {**of, "description": text} if text else of


def _other(member: str) -> dict[str, Any]:
    """A member into which nobody looks here."""
    text = words.IGNORED
    if member in workload_fields.REFUSED:
        text = words.REFUSED
    elif member in workload_fields.WARNED:
        text = words.WARNED
    is_list = member in MERGE_KEYS
    of = {"type": "array", "items": {"type": "object"}} if is_list else {}
    return {**of, **_merged(member), "description": text}


def _merged(member: str) -> dict[str, str]:
    """How a client that makes a strategic patch merges a list, as it is merged here."""
    if member not in MERGE_KEYS:
        return {}
    key = MERGE_KEYS[member]
    return {"x-kubernetes-patch-merge-key": key, "x-kubernetes-patch-strategy": "merge"}
