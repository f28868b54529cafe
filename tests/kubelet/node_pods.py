"""Pods for a kubelet and an agent beside it: as static pods, and as objects of an API server."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from running.kubelet_programs import IMAGE

GPU: Final = "example.com/gpu"


def container(
    name: str,
    *amounts: str,
    is_limited: bool = True,
    command: tuple[str, ...] = ("sleep", "infinity"),
) -> dict[str, Any]:
    """A container that asks for CPU, memory and devices, in this order."""
    asked = dict(zip(("cpu", "memory", GPU), amounts, strict=False))
    return {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": list(command),
        "resources": {"requests": asked} | ({"limits": asked} if is_limited else {}),
    }


def pod(name: str, *containers: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod of these containers on the network of the host."""
    given = {
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "containers": list(containers),
        **spec,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": given}


def static(made: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The pod as a static one: with a uid, and the moment that orders it after a restart.

    Without a uid, the kubelet and the agent would give it two; without the moment, the kubelet
    would take pods in the order of Go's maps.
    """
    name = made["metadata"]["name"]
    own = {
        "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        "creationTimestamp": f"2026-01-01T00:00:{number:02}Z",
    }
    return {**made, "metadata": {**made["metadata"], **own}}
