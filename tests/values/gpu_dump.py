"""A cluster as kubectl prints it: nodes that publish what they hold, and their pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numalet.core.cluster import classes, published
from numalet.core.cluster.building import POOL_LABEL
from numalet.core.cluster.cluster import Cluster, ClusterPod, Controller
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.value import replace
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


def write_rejections(path: Path) -> None:
    """Two nodes with 2 GPUs free on each NUMA node, one with a single GPU, one with 3 on each.

    Three pods of 4 GPUs were rejected, and one of 3; a pod of 4 waits.
    """
    nodes = []
    for name in ("gpu-1", "gpu-2"):
        pods = [gpu_fleet.pod(f"{name}-{uid}", 2) for uid in "abcd"]
        nodes.append(gpu_fleet.running(name, pods, gone=(f"{name}-a", f"{name}-c")))
    nodes.append(gpu_fleet.running("gpu-3", [gpu_fleet.pod("z", 4), gpu_fleet.pod("y", 3)]))
    # NUMA node 0 is full before the last pod, so each NUMA node keeps one of a single GPU.
    ones = [gpu_fleet.pod("one-a", 1), gpu_fleet.pod("three-b", 3), gpu_fleet.pod("one-c", 1)]
    nodes.append(gpu_fleet.running("gpu-4", ones, gone=["three-b"]))
    of = gpu_fleet.cluster(nodes, [gpu_fleet.pod("big", 4)])
    refused = [
        _refused("llm-0", "llm", 4, "gpu-1", 0),
        _refused("llm-1", "llm", 4, "gpu-2", 60),
        _refused("llm-2", "llm", 4, "gpu-1", 120),
        _refused("infer-0", "infer", 3, "gpu-1", 600),
    ]
    known = {**of.pods, **{each.pod.uid: each for each in refused}}
    every = objects(replace(of, pods=known))
    path.write_text(kube_lists.kubectl_json(every), encoding="utf-8")


def _refused(name: str, job: str, gpus: int, node: str, after_seconds: float) -> ClusterPod:
    return ClusterPod(
        pod=replace(gpu_fleet.pod(name, gpus), node_name=node, phase="Failed"),
        controller=Controller("Job", job),
        reason="TopologyAffinityError",
        message="Pod was rejected: Resources cannot be allocated with Topology locality",
        created_at_seconds=kube_lists.BEGIN_SECONDS + after_seconds,
    )
