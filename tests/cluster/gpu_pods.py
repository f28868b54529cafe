"""Pods of hollow GPU nodes, as commands name them and as manifests."""

from __future__ import annotations

from typing import Any, Final

GPU: Final = "example.com/gpu"


def shape(gpus: int) -> str:
    """A pod of so many GPUs, with a CPU for each."""
    return f"{GPU}={gpus},cpu={gpus},memory={gpus}Gi"


def pod(name: str, gpus: int, node: str = "") -> dict[str, Any]:
    """The manifest of it, bound to a node if one is named."""
    amounts = {GPU: str(gpus), "cpu": str(gpus), "memory": f"{gpus}Gi"}
    container = {
        "name": "app",
        "image": "any",
        "resources": {"requests": amounts, "limits": amounts},
    }
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
