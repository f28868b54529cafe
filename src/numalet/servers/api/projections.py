"""Which Kubernetes object a value of the agent is shown as."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from numalet.servers.door import AgentView
from numalet.workload import phase
from numalet.workload.record import NodeEvent, PodRecord


def time_text(at: datetime) -> str:
    """A moment as Kubernetes writes it: UTC, whole seconds."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(record: PodRecord, node_name: str) -> dict[str, Any]:
    """The Pod object."""
    of = record.workload
    verdict = record.run.verdict
    status: dict[str, Any] = {"phase": phase.phase(of, record.run).value}
    if verdict is not None and not verdict.admitted:
        status |= {
            "reason": verdict.reason,
            "message": f"Pod was rejected: {verdict.message}",
        }
    metadata = {
        **of.manifest.get("metadata", {}),
        "name": of.pod.name,
        "namespace": of.pod.namespace,
        "uid": of.uid,
        "resourceVersion": str(record.resource_version),
        "creationTimestamp": time_text(record.run.accepted_at),
    }
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {**of.manifest.get("spec", {}), "nodeName": node_name},
        "status": status,
    }


def column(record: PodRecord) -> str:
    """The text of the column STATUS."""
    verdict = record.run.verdict
    if verdict is not None and not verdict.admitted:
        return verdict.reason
    return phase.phase(record.workload, record.run).value


def ready(record: PodRecord) -> str:
    """The text of the column READY."""
    return f"0/{len(record.workload.containers)}"


def event(of: NodeEvent, node_name: str) -> dict[str, Any]:
    """The Event object."""
    involved = {"kind": "Pod" if of.pod_uid else "Node", "apiVersion": "v1"}
    involved |= {"name": of.pod_name or node_name, "namespace": of.namespace, "uid": of.pod_uid}
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {
            "name": f"{of.pod_name or node_name}.{of.resource_version:016x}",
            "namespace": of.namespace or "default",
            "resourceVersion": str(of.resource_version),
        },
        "type": of.kind.value,
        "reason": of.reason,
        "message": of.message,
        "count": of.count,
        "firstTimestamp": time_text(of.first_at or of.at),
        "lastTimestamp": time_text(of.at),
        "involvedObject": involved,
        "source": {"component": "kubelet", "host": node_name},
    }


def node(view: AgentView) -> dict[str, Any]:
    """The Node object."""
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": view.node_name, "resourceVersion": str(view.resource_version)},
        "status": {},
    }
