"""Facts about a node of a fleet and its pods, for the page of the node."""

from __future__ import annotations

from typing import Final

from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Origin
from numalet.core.model import cpu_set, pod_standing
from numalet.insight.maps.node_map import NodeMap
from numalet.pages import bodies

_ORIGINS: Final = {
    Origin.PUBLISHED: "published by the node itself",
    Origin.REBUILT: "rebuilt: its pods were admitted again in their start order",
    Origin.DESCRIBED: "described in a file",
}


def where(pod: ClusterPod, on: ClusterNode | None, chart: NodeMap | None) -> dict[str, str]:
    """Return the NUMA nodes and CPUs of a pod, if the exact state of its node is known."""
    if pod.pod.phase in pod_standing.TERMINAL_PHASES:
        return {"nodes": "-", "cpus": "-"}
    is_known = on is not None and pod.pod.uid in on.node.snapshot.pods
    # The managers may have decided otherwise than after a start with these pods in this order.
    if on is None or chart is None or on.origin is Origin.REBUILT or not is_known:
        return {"nodes": "unknown", "cpus": "unknown"}
    holds = chart.pod(pod.pod.uid)
    return {
        "nodes": bodies.nodes_text(() if holds is None else holds.nodes),
        "cpus": bodies.cpus_text(cpu_set.EMPTY if holds is None else holds.cpus),
    }


def facts(on: ClusterNode) -> list[tuple[str, str]]:
    rules = on.node.rules
    taints = ", ".join(f"{each.key}:{each.effect.value}" for each in on.taints)
    return [
        ("Pool", on.pool or "-"),
        ("State", on.state),
        ("Policy", f"{rules.topology.policy.value}, scope {rules.topology.scope.value}"),
        ("Origin", _ORIGINS[on.origin]),
        ("Taints", taints or "-"),
    ]
