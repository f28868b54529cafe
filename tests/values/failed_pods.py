"""Pods that kubelets rejected and their owners, as an API server has them."""

from __future__ import annotations

from typing import Any, Final

NAMESPACE: Final = "team-a"
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
REASON: Final = "TopologyAffinityError"


def reference(kind: str, name: str, version: str = "apps/v1") -> dict[str, Any]:
    """An owner reference to the controller."""
    uid = f"uid-of-{name}"
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}


def owner(name: str, *references: dict[str, Any]) -> dict[str, Any]:
    """An object that owns pods or is between them and their top owner."""
    return {"metadata": {"name": name, "uid": f"uid-of-{name}", "ownerReferences": [*references]}}


def pod(name: str, *references: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """A pod that failed at admission on node ``node-1``."""
    resources = {"requests": {"cpu": "4", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "4Gi"}}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "uid": f"uid-of-{name}",
            "creationTimestamp": "2030-01-01T00:00:00Z",
            "ownerReferences": [*references],
            **metadata,
        },
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "app", "image": "any", "resources": resources}],
        },
        "status": {
            "phase": "Failed",
            "reason": REASON,
            "message": "Pod was rejected: Resources cannot be allocated with Topology locality",
            "startTime": "2030-01-01T00:00:00Z",
        },
    }


def api_resources(version: str, **kinds: str) -> dict[str, Any]:
    """What the API server says of a version: the name of each kind, in namespaces all."""
    resources = [{"kind": kind, "name": name, "namespaced": True} for kind, name in kinds.items()]
    parts = [{"kind": "Scale", "name": f"{kinds[each]}/scale"} for each in kinds]
    return {"kind": "APIResourceList", "groupVersion": version, "resources": [*parts, *resources]}
