"""CPUs and devices of a node in the document of a simulation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numalet.core.model import cpu_set
from numalet.insight.maps.cpu_map import CpuCell, CpuUse, NodeCpus
from numalet.insight.maps.device_map import DeviceRow


def cpus(nodes: Iterable[NodeCpus]) -> list[dict[str, Any]]:
    """For each NUMA node: CPU lists by what they are for, exclusive ones by pod."""
    return [_node(node) for node in nodes]


def _node(node: NodeCpus) -> dict[str, Any]:
    cells = [cell for core in node.cores for cell in core]
    owners = sorted({cell.pod_uid for cell in cells if cell.use is CpuUse.EXCLUSIVE})
    return {
        "node_id": node.node_id,
        "shared": _listed(cell for cell in cells if cell.use is CpuUse.SHARED),
        "reserved": _listed(cell for cell in cells if cell.use is CpuUse.RESERVED),
        "exclusive": {
            uid: _listed(cell for cell in cells if cell.pod_uid == uid) for uid in owners
        },
    }


def _listed(cells: Iterable[CpuCell]) -> str:
    return cpu_set.text(cell.cpu for cell in cells)


def devices(rows: Iterable[DeviceRow]) -> list[dict[str, Any]]:
    """For each resource and set of NUMA nodes: the device ids."""
    return [
        {
            "resource": row.resource,
            "numa_nodes": list(row.nodes),
            "free": list(row.free),
            "in_use": list(row.in_use),
            "unhealthy": list(row.unhealthy),
        }
        for row in rows
    ]
