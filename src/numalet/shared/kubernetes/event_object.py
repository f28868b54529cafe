"""Kubernetes Event objects of the agent's events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from numalet.core.model import moments
from numalet.core.model.pod import ContainerKind
from numalet.core.workload.records import NodeEvent
from numalet.core.workload.spec import Workload

COMPONENT: Final = "numalet"
KUBELET: Final = "kubelet"
_LONGEST_NAME: Final = 180
"""Limit for the object's name in the event's name, which may have 253 characters."""
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


def event_object(
    event: NodeEvent,
    *,
    node_name: str,
    workload: Workload | None = None,
    component: str = COMPONENT,
) -> dict[str, Any]:
    """Build the Event; ``workload`` is the pod's, if still known; ``component`` is the source.

    A repeated event keeps its name, so clients see an update. Events of the node are in
    ``default``.
    """
    first = event.first_at or event.at
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": _name(event, node_name, first),
            "namespace": event.namespace or "default",
            "uid": f"{event.pod_uid or node_name}.{_microseconds(first)}.{event.reason}",
            "resourceVersion": str(event.resource_version),
            "creationTimestamp": moments.seconds(first),
        },
        "involvedObject": _about(event, node_name, workload),
        "reason": event.reason,
        "message": event.message,
        "type": event.kind.value,
        "count": event.count,
        "firstTimestamp": moments.seconds(first),
        "lastTimestamp": moments.seconds(event.at),
        "eventTime": None,
        "source": {"component": component, "host": node_name},
        "reportingComponent": component,
        "reportingInstance": node_name,
    }


def _about(event: NodeEvent, node_name: str, workload: Workload | None) -> dict[str, Any]:
    if not event.pod_uid:
        return {"kind": "Node", "apiVersion": "v1", "name": node_name, "uid": node_name}
    about = {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": event.namespace,
        "name": event.pod_name,
        "uid": event.pod_uid,
    }
    if event.container:
        about["fieldPath"] = f"spec.{_list_of(event.container, workload)}{{{event.container}}}"
    return about


def _list_of(container: str, workload: Workload | None) -> str:
    kinds = {each.name: each.kind for each in workload.containers} if workload else {}
    is_app = kinds.get(container, ContainerKind.APP) is ContainerKind.APP
    return "containers" if is_app else "initContainers"


def _name(event: NodeEvent, node_name: str, first: datetime) -> str:
    """A unique name of valid characters."""
    parts = (
        (event.pod_name or node_name)[:_LONGEST_NAME].rstrip("-."),
        f"{_microseconds(first):x}",
        event.reason.lower(),
        event.container,
    )
    return ".".join(part for part in parts if part)


def _microseconds(at: datetime) -> int:
    since = at - _BEGINNING
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
