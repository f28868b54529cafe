"""The Pod object of a file in the manifest folder.

A static pod has the node's name in its own, and a uid from its content (the manifest, the node's
name and the path of the file), so the same file gives the same pod after a restart. Kubelet:
``applyDefaults`` of the file source, v1.32; the hash is our own, because the kubelet hashes a dump
of Go's memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

CONFIG_HASH: Final = "kubernetes.io/config.hash"
CONFIG_SOURCE: Final = "kubernetes.io/config.source"
CONFIG_SEEN: Final = "kubernetes.io/config.seen"

_UID_DIGITS: Final = 32
_TOLERATION: Final = {"operator": "Exists", "effect": "NoExecute"}


def static_pod(
    manifest: Mapping[Any, Any], *, node_name: str, path: str, seen_at: datetime
) -> dict[str, Any]:
    """Return the Pod object that the kubelet would run for this file.

    Missing names and members of the wrong type stay: the parser of the object reports them with
    their location.
    """
    pod = {str(name): member for name, member in manifest.items()}
    metadata, spec = _given(pod, "metadata", {}), _given(pod, "spec", {})
    if isinstance(metadata, Mapping):
        pod["metadata"] = _metadata(metadata, uid_of(manifest, node_name, path), node_name, seen_at)
    if isinstance(spec, Mapping):
        given = _given(spec, "tolerations", [])
        tolerations = [*given, _TOLERATION] if isinstance(given, list) else given
        pod["spec"] = {**spec, "nodeName": node_name, "tolerations": tolerations}
    return pod


def uid_of(manifest: Mapping[Any, Any], node_name: str, path: str) -> str:
    """Return 32 hexadecimal digits that identify this content at this path."""
    text = json.dumps([_plain(manifest), node_name, path], ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_UID_DIGITS]


def _metadata(
    given: Mapping[Any, Any], made_uid: str, node_name: str, seen_at: datetime
) -> dict[str, Any]:
    metadata = dict(given)
    uid = metadata["uid"] = made_uid if given.get("uid") in (None, "") else given["uid"]
    if isinstance(name := given.get("name"), str) and name:
        metadata["name"] = f"{name}-{node_name.lower()}"
    if given.get("namespace") in (None, ""):
        metadata["namespace"] = "default"
    annotations = _given(given, "annotations", {})
    if isinstance(annotations, Mapping):
        metadata["annotations"] = {
            **annotations,
            CONFIG_HASH: uid,
            CONFIG_SEEN: seen_at.isoformat().replace("+00:00", "Z"),
            CONFIG_SOURCE: "file",
        }
    return metadata


def _given(value: Mapping[Any, Any], name: str, absent: Any) -> Any:
    member = value.get(name)
    return absent if member is None else member


def _plain(value: object) -> Any:
    """Return the value with sorted members; different values stay different."""
    if isinstance(value, Mapping):
        members = [[_plain(name), _plain(member)] for name, member in value.items()]
        return {"object": sorted(members, key=json.dumps)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    known = value is None or isinstance(value, bool | int | str)
    return value if known else {"other": repr(value)}
