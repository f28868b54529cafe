"""A cluster is opened from what kubectl wrote."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from numalet.core.cluster import classes, published
from numalet.core.cluster.cluster import Origin
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.findings import BadInput
from numalet.insight.usecases.clusters import ClusterSources, open_cluster
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.documents.cluster.numa_node import NumaNodeSpec
from values import gpu_fleet, kube_lists


def test_a_dump_with_published_nodes_is_a_cluster(tmp_path: Path) -> None:
    made = gpu_fleet.running("n", [gpu_fleet.pod("a", 2), gpu_fleet.pod("b", 1)])
    fleet = gpu_fleet.cluster([made], [gpu_fleet.pod("w", 8)])
    spec = classes.spec_of(made.node, gpu_fleet.kubelet_config())
    name = classes.class_name(spec)
    state = numa_node.document(published.of_node(made.node))
    objects = [
        kube_lists.node_object(ListedNode(name="n", kubelet_version="v1.34.1")),
        *map(kube_lists.pod_object, fleet.pods.values()),
        numa_node.published_object(
            "n", NumaNodeSpec(class_name=name, published="2026-01-31T12:00:00Z", state=state)
        ),
        numa_node_class.class_object(spec),
    ]
    path = tmp_path / "dump.json"
    path.write_text(kube_lists.kubectl_json(objects))
    cluster = open_cluster(ClusterSources(paths=[str(path)]))
    assert cluster.notes == ()
    assert cluster.nodes["n"].origin is Origin.PUBLISHED
    assert cluster.nodes["n"].notes == ()
    assert published.of_node(cluster.nodes["n"].node) == published.of_node(made.node)
    assert [each.pod.uid for each in cluster.waiting()] == ["w"]
    assert gc.isenabled()


def test_nothing_is_no_cluster(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(kube_lists.kubectl_json([]))
    with pytest.raises(BadInput) as caught:
        open_cluster(ClusterSources(paths=[str(path)]))
    assert [each.code for each in caught.value.findings] == ["input/not-found"]


@pytest.mark.slow
@pytest.mark.parametrize("is_described", [True, False])
def test_the_standard_input_is_a_description_or_a_dump(is_described: bool) -> None:
    node = kube_lists.node_object(ListedNode(name="n", kubelet_version="v1.34.1"))
    text = kube_lists.kubectl_json([node])
    if is_described:
        text = "pools: [{name: n, machine: 2n4c1t}]\n"
    program = (
        "from numalet.insight.usecases.clusters import ClusterSources, open_cluster\n"
        "cluster = open_cluster(ClusterSources(paths=['-']))\n"
        "print(sorted(cluster.nodes), sorted(cluster.undecided))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True, check=True
    )
    assert run.stdout == ("['n-0'] []\n" if is_described else "[] ['n']\n")
