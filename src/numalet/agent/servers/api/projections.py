"""The agent's values as API objects: NodeState, Pod, Event, Node with facts of the host."""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping
from typing import Any

from numalet import __version__
from numalet.agent.host import procfs
from numalet.agent.kubelet import document
from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.servers.door import AgentView, OwnershipMode
from numalet.core.config.behaviour import Mode
from numalet.core.managers.cpu import cpu_mask
from numalet.core.model import cpu_set, moments
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.core.workload.records import NodeEvent, PodRecord
from numalet.insight.maps import resource_maps
from numalet.insight.maps.resource_maps import SimulationHolderDocument, SimulationNodeDocument
from numalet.insight.output import json_schema
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
from numalet.shared.kubernetes.pod_placement import audit_document
from numalet.shared.kubernetes.table_columns import PodColumns

time_text = moments.seconds


def node_state(view: AgentView) -> dict[str, Any]:
    """Build the NodeState object without group and version. Sizes in bytes."""
    pods = {uid: record.workload.pod for uid, record in view.records.items()}
    return {
        "standing": view.standing.value,
        "guarantee": view.level.value,
        "notes": list(view.notes),
        "ready": view.ready,
        **node_allocations(view.node, pods),
        "kubelet": document.kubelet_document(view.kubelet),
        "audits": [
            {"podUID": key.pod_uid, "container": key.container, **audit_document(audit)}
            for key, audit in sorted(view.audits.items())
        ],
    }


def node_allocations(node: Node, pods: Mapping[str, Pod]) -> dict[str, Any]:
    """Allocations on a node of an agent or of commands; ``pods`` by uid."""
    rules = node.rules
    chart = resource_maps.memory_map(node.snapshot, rules.machine, node.leftovers(), pods)
    cpus = resource_maps.cpu_lists(
        resource_maps.cpu_map(node.snapshot, rules.machine, reserved_cpus(node))
    )
    devices = resource_maps.device_map(node.snapshot.device)
    return {
        "policies": {
            "topology": rules.topology.policy.value,
            "scope": rules.topology.scope.value,
            "memory": rules.memory.policy.value,
            "cpu": rules.cpu.policy.value,
        },
        "numaNodes": [_numa_node(row) for row in chart.nodes],
        "cpus": list(map(json_schema.plain, cpus)),
        "devices": list(map(json_schema.plain, devices)),
        "holders": [_holder(each) for each in chart.active],
        "leftBehind": [_holder(each) for each in chart.left_behind],
    }


def _numa_node(row: SimulationNodeDocument) -> dict[str, Any]:
    return {
        "id": row.node_id,
        "group": row.group,
        "assignments": row.assignments,
        "memory": {
            each.resource: {
                "totalBytes": each.total_bytes,
                "systemReservedBytes": each.system_reserved_bytes,
                "allocatableBytes": each.allocatable_bytes,
                "reservedBytes": each.reserved_bytes,
                "freeBytes": each.free_bytes,
            }
            for each in row.types
        },
    }


def reserved_cpus(node: Node) -> CpuSet:
    static = node.roster.static_cpus
    return cpu_set.EMPTY if static is None else cpu_mask.to_set(static.reserved.cpus)


def _holder(holder: SimulationHolderDocument) -> dict[str, Any]:
    return {
        "podUID": holder.pod_uid,
        "pod": holder.name,
        "container": holder.container,
        "cpus": holder.cpuset,
        "memory": [
            {"numaNodes": each.numa_affinity, "type": each.type, "sizeBytes": each.size}
            for each in holder.memory
        ],
        "devices": holder.devices,
    }


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
        "architecture": procfs.architecture(),
        "kernel_version": platform.release(),
        "os_image": image,
    }
