"""A KubeletConfiguration as a document: its apiVersion and kind, and its form in ``/configz``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from numalet.core.config import kubelet_fields
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model import go_text
from numalet.core.model.findings import BadInput, Location
from numalet.io.documents.kubelet.kubelet_types import go_kind
from numalet.io.findings.config_files import ConfigFileKind, ConfigFileNotAMapping

API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
KIND: Final = "KubeletConfiguration"
_MOST_NAMES: Final = 6
_LEFT_OUT_WHEN_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


def is_plain(value: object) -> bool:
    return isinstance(value, Mapping) and (value.get("apiVersion"), value.get("kind")) == (
        API_VERSION,
        KIND,
    )


def fields_of(value: object, where: Location) -> dict[str, Any]:
    """``apiVersion`` and ``kind`` may be absent. Raises ``BadInput`` for another kind."""
    if not isinstance(value, dict):
        raise BadInput([ConfigFileNotAMapping(found=go_kind(value), where=where)])
    if not is_plain({"apiVersion": API_VERSION, "kind": KIND, **value}):
        raise BadInput([ConfigFileKind(what=described(value), others=KIND, where=where)])
    return value


def described(value: Mapping[str, Any]) -> str:
    """Describe a document by its kind, or else by its keys."""
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if kind is not None or api_version is not None:
        return f"this is kind {kind!r} of apiVersion {api_version!r}"
    names = [str(name) for name in value]
    more = ", ..." * (len(names) > _MOST_NAMES)
    return f"this is a document with the keys {', '.join(names[:_MOST_NAMES])}{more}"


def configz(config: KubeletConfig) -> dict[str, Any]:
    """The supported fields; empty ones are left out, as by the kubelet (``omitempty``)."""
    shown: dict[str, Any] = {}
    for name, row in kubelet_fields.HONOURED.items():
        value = _plain(getattr(config, row.attribute), row.type)
        if value not in _LEFT_OUT_WHEN_EMPTY:
            around, _, inner = name.partition(".")
            shown[around] = {inner: value} if inner else value
    return {"kubeletconfig": shown}


def _plain(value: Any, of_type: str) -> Any:
    if of_type == "duration":
        return go_text.duration_text(value)
    if of_type == "[]v1beta1.MemoryReservation":
        return [
            {
                "numaNode": entry.numa_node,
                "limits": {name: str(size) for name, size in sorted(entry.limits.items())},
            }
            for entry in value
        ]
    if isinstance(value, Mapping):
        return dict(sorted(value.items()))
    return list(value) if isinstance(value, tuple) else value
