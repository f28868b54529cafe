"""Converts the agent's values into Kubernetes objects, with facts of the host."""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping
from typing import Any

from numalet import __version__
from numalet.agent.host import hosts
from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.servers.door import AgentView, OwnershipMode
from numalet.core.config.behaviour import Mode
from numalet.core.model import moments
from numalet.core.workload.records import NodeEvent, PodRecord
from numalet.shared.kubernetes import (
    event_object as kube_event,
)
from numalet.shared.kubernetes import (
    node_object as kube_node,
)
from numalet.shared.kubernetes import (
    pod_object as kube_pod,
)
from numalet.shared.kubernetes import (
    table_columns,
)
from numalet.shared.kubernetes.node_object import KubeletCondition, NodeFacts
from numalet.shared.kubernetes.table_columns import PodColumns

time_text = moments.seconds


def pod(record: PodRecord, node_name: str) -> dict[str, Any]:
    pod = kube_pod.pod_object(record)
    return {**pod, "spec": {**pod["spec"], "nodeName": node_name}}


def columns(pod: Mapping[str, Any]) -> PodColumns:
    """Compute the columns of a table from the Pod object."""
    return table_columns.columns(pod)


def event(of: NodeEvent, view: AgentView) -> dict[str, Any]:
    record = view.records.get(of.pod_uid)
    workload = None if record is None else record.workload
    # In exact mode events name the kubelet as their source; next to a real one, the agent.
    speaks_as_kubelet = (
        view.node.rules.behaviour.mode is Mode.EXACT and view.standing is OwnershipMode.ENFORCING
    )
    return kube_event.event_object(
        of,
        node_name=view.node_name,
        workload=workload,
        component=kube_event.KUBELET if speaks_as_kubelet else kube_event.COMPONENT,
    )


def node(view: AgentView) -> dict[str, Any]:
    facts = NodeFacts(
        name=view.node_name,
        created_at=view.node_created_at,
        started_at=view.started_at,
        unready=view.unready,
        unschedulable=view.unschedulable,
        version=__version__,
        kubelet=_kubelet_condition(view.kubelet),
        **_host(),
    )
    return kube_node.node_object(view.node, facts)


def _kubelet_condition(observation: KubeletObservation | None) -> KubeletCondition | None:
    if observation is None:
        return None
    running = observation.evidence.running
    is_running = None if running is None else bool(running)
    release = observation.evidence.followed
    return KubeletCondition(is_running, observation.state_since, release)


@functools.cache
def _host() -> dict[str, str]:
    """Constant while the agent runs."""
    try:
        image = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        image = ""
    return {
        "architecture": hosts.architecture(),
        "kernel_version": platform.release(),
        "os_image": image,
    }
