"""The NodeState object: memory per NUMA node, CPUs, devices, guarantee, audits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numalet.agent.kubelet import document
from numalet.agent.servers.door import AgentView
from numalet.core.managers.cpu import cpu_mask
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.insight.maps import resource_maps
from numalet.insight.maps.resource_maps import MemoryHolder, MemoryNodeRow
from numalet.insight.output import json_schema, simulation_document
from numalet.shared.kubernetes.pod_placement import audit_document


def node_state(view: AgentView) -> dict[str, Any]:
    """Build the object without group and version. Sizes in bytes."""
    pods = {uid: record.workload.pod for uid, record in view.records.items()}
    return {
        "standing": view.standing.value,
        "guarantee": view.level.value,
        "notes": list(view.notes),
        "ready": view.ready,
        **of_node(view.node, pods),
        "kubelet": document.kubelet_document(view.kubelet),
        "audits": [
            {"podUID": key.pod_uid, "container": key.container, **audit_document(audit)}
            for key, audit in sorted(view.audits.items())
        ],
    }


def of_node(node: Node, pods: Mapping[str, Pod]) -> dict[str, Any]:
    """Allocations on a node of an agent or of commands; ``pods`` by uid."""
    rules = node.rules
    chart = resource_maps.memory_map(node.snapshot, rules.machine, node.leftovers(), pods)
    cpus = simulation_document.cpus(
        resource_maps.cpu_map(node.snapshot, rules.machine, reserved_cpus(node))
    )
    devices = simulation_document.devices(resource_maps.device_map(node.snapshot.device))
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


def _numa_node(row: MemoryNodeRow) -> dict[str, Any]:
    return {
        "id": row.node_id,
        "group": list(row.group),
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


def _holder(holder: MemoryHolder) -> dict[str, Any]:
    return {
        "podUID": holder.key.pod_uid,
        "pod": holder.name,
        "container": holder.key.container,
        "cpus": cpu_set.text(holder.cpus),
        "memory": [
            {"numaNodes": list(nodes), "type": resource, "sizeBytes": size_bytes}
            for nodes, resource, size_bytes in holder.blocks
        ],
        "devices": {name: list(ids) for name, ids in holder.devices.items()},
    }
