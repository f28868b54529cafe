"""``numalet doctor cluster`` beside KAI and NodeResourceTopologyMatch, on a real API server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from cluster import guaranteed_pods
from cluster.test_doctor import CLASSES, NUMA_NODES, doctor, findings, make_node
from numalet.core.cluster import classes
from numalet.io.documents.cluster import numa_node_class
from numalet.io.documents.kubelet import kubelet_config
from numalet.shared.kubernetes import node_resource_topology
from running.control_plane import ControlPlane
from values import profile_bench

SHARDS: Final = "/apis/kai.scheduler/v1/schedulingshards"
DEFINITION: Final = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "schedulingshards.kai.scheduler"},
    "spec": {
        "group": "kai.scheduler",
        "scope": "Cluster",
        "names": {"kind": "SchedulingShard", "plural": "schedulingshards"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
SCHEDULER: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "NodeResourceTopologyMatch",
                    "args": {"cacheResyncPeriodSeconds": 5, "cache": {"informerMode": "Shared"}},
                }
            ]
        }
    ],
}


def applied(plane: ControlPlane, path: str, manager: str, body: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/apply-patch+yaml"}
    answer = plane.request("PATCH", f"{path}?fieldManager={manager}", body, headers=headers)
    assert answer.is_success, answer.text


def test_faults_beside_kai_are_found_and_its_ignore_list_is_read(own_plane: Any) -> None:
    plane: ControlPlane = own_plane()
    plane.kubectl("apply", "-f", "-", given=json.dumps(DEFINITION))
    root = Path(__file__).parents[2] / "packaging" / "kubernetes"
    plane.apply(root / "crds", root / "node-resource-topology")
    plane.until_established()
    config = kubelet_config.decode({"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}, "")
    node = profile_bench.started("xeon-2n", memoryManagerPolicy="None", reservedMemory=[])
    of_class = numa_node_class.class_object(classes.spec_of(node, config))
    plane.create(CLASSES, dict(of_class))
    make_node(plane, "n7")
    spec = {"class": of_class["metadata"]["name"], "published": "2026-01-01T00:00:00Z", "state": {}}
    about = {"apiVersion": "numalet.dev/v1alpha1", "kind": "NumaNode"}
    numa_node = {**about, "metadata": {"name": "n7"}, "spec": spec}
    applied(plane, f"{NUMA_NODES}/n7", "numalet", numa_node)
    amounts = {"capacity": "1", "allocatable": "1", "available": "1"}
    zones = [
        {
            "name": f"node-{at}",
            "type": "Node",
            "resources": [{"name": each, **amounts} for each in ("cpu", "memory")],
        }
        for at in range(9)
    ]
    pods = f"/api/v1/namespaces/{plane.namespace()}/pods"
    namespace = pods.split("/")[-2]
    plane.create(pods, guaranteed_pods.on("n7", "ended"))
    headers = {"Content-Type": "application/merge-patch+json"}
    ended = {"status": {"phase": "Succeeded"}}
    assert plane.request("PATCH", f"{pods}/ended/status", ended, headers=headers).is_success
    topology = {
        **node_resource_topology.named("n7", {"zones": zones}),
        "attributes": [
            {
                "name": "nodeTopologyPodsFingerprint",
                "value": node_resource_topology.fingerprint([(namespace, "ended")]),
            }
        ],
    }
    for manager in ("nfd", "rte"):
        applied(plane, f"{node_resource_topology.PATH}/n7", manager, topology)
    for manager in ("npe", "numalet-kai"):
        notes = {"kai.scheduler/numa-placement-observed": "[]"}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "ended", "annotations": notes},
        }
        applied(plane, f"{pods}/ended", manager, body)

    ours = {
        "cluster/kai-zones-unmanaged", "cluster/kai-too-many-zones",
        "cluster/kai-two-publishers", "cluster/topology-two-publishers",
    }  # fmt: skip
    stale = "cluster/fingerprint-of-ended-pods"
    assert findings(plane).keys() & {*ours, stale} == set()
    plugin: dict[str, Any] = {"enabled": True}
    about = {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard"}
    shard = {**about, "metadata": {"name": "default"}, "spec": {"plugins": {"numa": plugin}}}
    plane.create(SHARDS, shard)
    found = findings(plane)
    assert found.keys() & {*ours, stale} == ours
    message = found["cluster/kai-zones-unmanaged"]["message"]
    assert message.startswith("1 node whose NodeResourceTopology has memory by NUMA node")
    assert "nfd, rte" in found["cluster/topology-two-publishers"]["message"]
    assert "npe, numalet-kai" in found["cluster/kai-two-publishers"]["message"]

    change = {"spec": {"plugins": {"numa": {"arguments": {"ignoreList": "memory, x"}}}}}
    assert plane.request("PATCH", f"{SHARDS}/default", change, headers=headers).is_success
    assert findings(plane).keys() & {*ours, stale} == ours - {"cluster/kai-zones-unmanaged"}


def test_a_shared_informer_never_matches_a_fingerprint_of_ended_pods(
    defined: ControlPlane, tmp_path: Path
) -> None:
    pods = f"/api/v1/namespaces/{defined.namespace()}/pods"
    defined.create(pods, guaranteed_pods.on("n7", "ended"))
    headers = {"Content-Type": "application/merge-patch+json"}
    ended = {"status": {"phase": "Succeeded"}}
    assert defined.request("PATCH", f"{pods}/ended/status", ended, headers=headers).is_success
    value = node_resource_topology.fingerprint([(pods.split("/")[-2], "ended")])
    topology = {
        **node_resource_topology.named("n7", {"zones": []}),
        "attributes": [{"name": "nodeTopologyPodsFingerprint", "value": value}],
    }
    applied(defined, f"{node_resource_topology.PATH}/n7", "numalet", topology)
    file = tmp_path / "scheduler.yaml"
    file.write_text(json.dumps(SCHEDULER))
    _, said = doctor(defined, "--scheduler-config", str(file))
    assert "1 node whose pod fingerprint counts pods that have ended: n7" in " ".join(said.split())
    assert "fingerprint" not in doctor(defined)[1]
