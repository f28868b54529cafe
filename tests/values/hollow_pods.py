"""Pods as the API server hands them out, bound to a hollow node, and the node that gets them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from numalet.cluster.hollow import pod_reader
from numalet.cluster.hollow.life import HollowPod, NodeLife
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Origin
from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import Findings
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.io import machines
from numalet.io.documents.kubelet import kubelet_config

BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)
GPU = "example.com/gpu"
EIGHT_GPUS = {GPU: [Device(f"gpu{at}", (at // 4,)) for at in range(8)]}
"""Four on each of two NUMA nodes."""


def at(seconds: float) -> datetime:
    """The moment so many seconds after the beginning."""
    return BEGINNING + timedelta(seconds=seconds)


def machine() -> MachineInfo:
    """Two NUMA nodes with 8 cores each, two threads a core, 32 GiB a NUMA node."""
    return machines.open_machine("2n8c2t", memory_per_node="32Gi").info


def config(**settings: Any) -> KubeletConfig:
    """Static CPU and memory managers, single-numa-node in pod scope."""
    return kubelet_config.decode(
        {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0,16",
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1124Mi"}}],
            "kubeReserved": {"memory": "1Gi"},
            "topologyManagerPolicy": "single-numa-node",
            "topologyManagerScope": "pod",
            **settings,
        },
        "kubelet.yaml",
    )


def node(name: str = "hollow-0", release: Release = EXACT.release, **settings: Any) -> Node:
    """An empty node of this name."""
    started = nodes.start(
        config(**settings),
        machine(),
        devices=EIGHT_GPUS,
        behaviour=replace(EXACT, release=release),
        identity=NodeIdentity(name=name, has_all_labels=True),
    )
    assert not isinstance(started, StartRefused), started
    return started


def life(name: str = "hollow-0", **settings: Any) -> NodeLife:
    """A hollow node without pods."""
    return NodeLife(name=name, node=node(name, **settings))


def document(
    name: str,
    node_name: str = "hollow-0",
    notes: dict[str, str] | None = None,
    spec: dict[str, Any] | None = None,
    **asked: str,
) -> dict[str, Any]:
    """A Pod object of one container, with these requests and limits."""
    container: dict[str, Any] = {"name": "app", "image": "registry.example/app:1"}
    if asked:
        amounts = {"cpu": "1", "memory": "1Gi", **{_resource(k): v for k, v in asked.items()}}
        container = {**container, "resources": {"requests": amounts, "limits": amounts}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "creationTimestamp": "2030-01-01T00:00:00Z",
            "annotations": notes or {},
        },
        "spec": {
            "nodeName": node_name,
            "restartPolicy": "Never",
            "containers": [container],
            "terminationGracePeriodSeconds": 30,
            **(spec or {}),
        },
        "status": {"phase": "Pending", "qosClass": "Guaranteed" if asked else "BestEffort"},
    }


def _resource(name: str) -> str:
    return GPU if name == "gpu" else name


def pod(name: str, *args: Any, **kwargs: Any) -> HollowPod:
    """The same as its node reads it."""
    return read(document(name, *args, **kwargs))


def with_waiting(*held: str) -> Cluster:
    """A node on which pods with so many GPUs run, and a pod that waits for four."""
    own = node()
    for number, gpus in enumerate(held):
        own, _ = own.admit(pod(str(number), gpu=gpus).workload.pod)
    only = ClusterNode(name="hollow-0", node=own, origin=Origin.PUBLISHED, class_name="gpu")
    waits = ClusterPod(
        pod=replace(pod("job", "", gpu="4").workload.pod, node_name=""), was_refused=True
    )
    return Cluster(nodes={"hollow-0": only}, pods={waits.pod.uid: waits})


def read(value: dict[str, Any]) -> HollowPod:
    """A Pod object as its node reads it; without a finding."""
    findings = Findings()
    whole = pod_reader.read_pod(msgspec.json.encode(value), findings)
    assert whole is not None, findings.all
    assert findings.all == ()
    return whole
