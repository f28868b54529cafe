"""A cluster as kubectl prints it: nodes that publish what they hold, and their pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numalet.core.cluster import classes, published
from numalet.core.cluster.building import POOL_LABEL
from numalet.core.cluster.cluster import Cluster
from numalet.core.cluster.objects import ListedNode
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.documents.cluster.numa_node import NumaNodeSpec
from values import gpu_fleet, kube_lists


def objects(of: Cluster) -> list[dict[str, Any]]:
    """Every object of a cluster of nodes such as ``gpu_fleet`` makes."""
    spec = classes.spec_of(gpu_fleet.empty(), gpu_fleet.kubelet_config())
    every: list[dict[str, Any]] = [numa_node_class.class_object(spec)]
    for name, each in of.nodes.items():
        listed = ListedNode(
            name=name, kubelet_version="v1.32.4", labels={POOL_LABEL: each.pool or "gpus"}
        )
        state = numa_node.document(published.of_node(each.node))
        every.append(kube_lists.node_object(listed))
        every.append(
            numa_node.published_object(
                name,
                NumaNodeSpec(
                    class_name=classes.class_name(spec),
                    published="2026-05-01T08:00:00Z",
                    state=state,
                ),
            )
        )
    return [*every, *map(kube_lists.pod_object, of.pods.values())]


def write_three_nodes(path: Path) -> None:
    """Two nodes with 2 GPUs free on each NUMA node, one with a single GPU, and a pod that waits."""
    nodes = []
    for name in ("gpu-1", "gpu-2"):
        pods = [gpu_fleet.pod(f"{name}-{uid}", 2) for uid in "abcd"]
        nodes.append(gpu_fleet.running(name, pods, gone=(f"{name}-a", f"{name}-c")))
    nodes.append(gpu_fleet.running("gpu-3", [gpu_fleet.pod("z", 4), gpu_fleet.pod("y", 3)]))
    every = objects(gpu_fleet.cluster(nodes, [gpu_fleet.pod("big", 4)]))
    path.write_text(kube_lists.kubectl_json(every), encoding="utf-8")
