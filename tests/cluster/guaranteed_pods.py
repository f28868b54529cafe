"""Guaranteed pods of a real API server, and nodes of numalet that hold their resources."""

from __future__ import annotations

import json
from typing import Any

from numalet.agent.publish import pod_annotator
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.shared.publish import node_view
from numalet.shared.publish.node_view import PublishedView
from running.control_plane import ControlPlane
from values import profile_bench


def on(node: str, name: str = "pod", **more: Any) -> dict[str, Any]:
    """A pod with 2 CPUs and 3 Gi that is bound to the node."""
    limits = {"cpu": "2", "memory": "3Gi"}
    spec = {
        "nodeName": node,
        "automountServiceAccountToken": False,
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "none", "resources": {"limits": limits}}],
    }
    return {"metadata": {"name": name, **more}, "spec": spec}


def held(*stored: dict[str, Any]) -> PublishedView:
    """What is published of a node that has admitted these pods in their order."""
    node, pods = profile_bench.started("xeon-2n"), []
    for each in stored:
        watched = pod_annotator.decode(json.dumps(each).encode())
        assert watched is not None
        node, decision = node.admit(watched.progress.pod)
        assert decision.admitted, decision
        pods.append(watched.progress.pod)
    return node_view.view_of_node(node, KubeletConfig(), pods)


def starts(plane: ControlPlane, path: str) -> None:
    """Let the kubelet of the pod report that its container runs."""
    running = {"name": "main", "state": {"running": {}}, "image": "none", "imageID": "none"}
    status = {"containerStatuses": [{**running, "ready": True, "restartCount": 0}]}
    headers = {"Content-Type": "application/merge-patch+json"}
    body = {"status": {"phase": "Running", **status}}
    answer = plane.request("PATCH", f"{path}/status", body, headers=headers)
    assert answer.is_success, answer.text


def notes(plane: ControlPlane, pods: str, name: str = "pod") -> dict[str, str]:
    """The annotations of a pod."""
    annotations = plane.get(f"{pods}/{name}")["metadata"].get("annotations", {})
    assert isinstance(annotations, dict)
    return annotations
