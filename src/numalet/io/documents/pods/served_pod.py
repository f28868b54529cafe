"""Reads a Pod object that an API server sends in a list or a watch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numalet.core.model.findings import Findings
from numalet.core.model.pod import Pod
from numalet.io.documents.pods import pod_document
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.text.typed import Place


def place(value: Mapping[str, Any]) -> Place:
    """Return the place that findings name: ``namespace/name``."""
    metadata = value["metadata"]
    return Place(f"{metadata.get('namespace')}/{metadata['name']}")


def decode(value: Mapping[str, Any], findings: Findings) -> Pod | None:
    """Return the pod, or report why it cannot be read."""
    identity = PodIdentity(from_server=True, among_many=True)
    return pod_document.decode_pod(value, place(value), identity, findings)


def statuses(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the statuses of the init containers, then of the others."""
    status = value.get("status") or {}
    names = ("initContainerStatuses", "containerStatuses")
    return [each for name in names for each in status.get(name) or ()]
