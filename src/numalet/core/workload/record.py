"""The record of one pod of the agent, as stored on disk and shown by the API."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.workload.run import Cause, PodRun
from numalet.core.workload.spec import Count, Workload


class PodRecord(Value):
    """A workload and its run; ``resource_version`` grows with every change."""

    workload: Workload
    run: PodRun
    resource_version: Count = 0

    @property
    def uid(self) -> str:
        return self.workload.pod.uid

    def with_run(self, run: PodRun, resource_version: int) -> PodRecord:
        return replace(self, run=run, resource_version=resource_version)


class EventKind(Enum):
    NORMAL = "Normal"
    WARNING = "Warning"


class NodeEvent(Value, kw_only=True):
    """An event in Kubernetes' format.

    ``pod_uid`` is empty for an event of the node itself; ``count`` counts equal events in a row.
    ``message`` is made from ``causes``; they are empty if it is the kubelet's own text.
    """

    kind: EventKind
    reason: str
    message: str
    at: datetime
    resource_version: int
    pod_uid: str = ""
    pod_name: str = ""
    namespace: str = ""
    container: str = ""
    first_at: datetime | None = None
    count: int = 1
    causes: tuple[Cause, ...] = ()


def event_about(
    pod: Pod,
    kind: EventKind,
    reason: str,
    message: str,
    at: datetime,
    container: str = "",
    causes: tuple[Cause, ...] = (),
) -> NodeEvent:
    return NodeEvent(
        kind=kind,
        reason=reason,
        message=message,
        causes=causes,
        at=at,
        resource_version=0,
        pod_uid=pod.uid,
        pod_name=pod.name,
        namespace=pod.namespace,
        container=container,
    )
