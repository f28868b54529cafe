"""The kubelet's own texts in errors of its gRPC interfaces, v1.32."""

from __future__ import annotations

from typing import Final

RATE_LIMITED: Final = "rejected by rate limit"
POD_RESOURCES_GET_DISABLED: Final = "PodResources API Get method disabled"


def pod_resources_not_found(name: str, namespace: str) -> str:
    """What ``Get`` says of a pod that is not known."""
    return f"pod {name} in namespace {namespace} not found"
