"""What nodes and their kubelets write to a fake API server, and what kubectl would dump of it."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from numalet.core.cluster import classes, published
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.cluster.objects import ListedNode
from numalet.insight.usecases.clusters import ClusterSources, open_cluster
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.documents.cluster.numa_node import NumaNodeSpec
from running.fake_api_server import FakeApiServer
from values import gpu_fleet, kube_lists

GROUP = f"/apis/{numa_node.API_VERSION}"
SPEC = classes.spec_of(gpu_fleet.empty(), gpu_fleet.kubelet_config())
CLASS = classes.class_name(SPEC)
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
PATHS = (
    *("/api/v1/nodes", "/api/v1/pods", BUDGETS),
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
    *(f"{GROUP}/numanodes", f"{GROUP}/numanodeclasses"),
)


class Kubelets:
    """Writes what nodes and their kubelets write, and what kubectl would dump of it."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.objects: dict[str, dict[str, Any]] = {}
        self.put(f"{GROUP}/numanodeclasses/{CLASS}", numa_node_class.class_object(SPEC))

    def put(self, path: str, value: dict[str, Any]) -> None:
        self.objects[path] = copy.deepcopy(self.server.put(path, value))

    def remove(self, path: str) -> None:
        del self.objects[path]
        self.server.remove(path)

    def node(self, name: str, **more: Any) -> None:
        listed = ListedNode(name=name, uid=name, kubelet_version="v1.34.0", **more)
        self.put(f"/api/v1/nodes/{name}", kube_lists.node_object(listed))

    def state(self, name: str, *gpus: int) -> None:
        """A node that has admitted pods of so many GPUs, and published that."""
        node = gpu_fleet.empty()
        for at, count in enumerate(gpus):
            pod = gpu_fleet.pod(f"{name}-{at}", count)
            node, decision = node.admit(pod)
            assert decision.admitted
            self.pod(f"{name}-{at}", count, name)
        spec = NumaNodeSpec(
            class_name=CLASS,
            published="2026-01-31T12:00:00Z",
            state=numa_node.document(published.of_node(node)),
        )
        self.put(f"{GROUP}/numanodes/{name}", numa_node.published_object(name, spec))

    def pod(self, uid: str, gpus: int, node_name: str = "") -> None:
        phase = "Running" if node_name else "Pending"
        pod = replace(gpu_fleet.pod(uid, gpus), node_name=node_name, phase=phase)
        value = kube_lists.pod_object(ClusterPod(pod=pod, created_at_seconds=1.0))
        self.put(f"/api/v1/namespaces/default/pods/{uid}", value)

    def dumped(self, folder: Path) -> Cluster:
        path = folder / "dump.json"
        path.write_text(kube_lists.kubectl_json(self.objects.values()))
        return open_cluster(ClusterSources(paths=[str(path)]))
