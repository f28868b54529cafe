"""The objects of a hollow node in the API server besides its pods: Node, lease."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

import numalet
from numalet.core.model import moments
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.shared.kubernetes import node_object

HOLLOW: Final = "numalet.dev/hollow"
"""The label of hollow nodes; its value is the prefix of their names."""
POOL: Final = "numalet.dev/pool"
KIND: Final = "node.kubernetes.io/instance-type"
FAULT: Final = "numalet.dev/hollow-fault"
"""The annotation that requests a fault of a hollow node."""
NOT_READY: Final = "node.kubernetes.io/not-ready"
ARCHITECTURE: Final = "amd64"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS: Final = 40

_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


class NodeNaming(Value, kw_only=True):
    name: str
    prefix: str
    kind: str
    pool: str = ""
    labels: Mapping[str, str] = MappingProxyType({})

    def all_labels(self, node: Node) -> dict[str, str]:
        """Return every label of the Node; the user's own override the others."""
        return {
            **node_object.labels(self.name, node.rules.machine.os, ARCHITECTURE),
            KIND: self.kind,
            HOLLOW: self.prefix,
            **({POOL: self.pool} if self.pool else {}),
            **self.labels,
        }


def whole(node: Node, naming: NodeNaming, boots: int, now: datetime) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": naming.name, "labels": naming.all_labels(node)},
        "status": status(node, naming, boots, now),
    }


def status(node: Node, naming: NodeNaming, boots: int, now: datetime) -> dict[str, Any]:
    """Return the ``status`` of a ready Node. ``boots`` counts its starts."""
    facts = node_object.NodeFacts(
        name=naming.name,
        created_at=now,
        started_at=now,
        version=numalet.__version__,
        architecture=ARCHITECTURE,
        machine_id=naming.name,
        boot_id=f"{naming.name}-{boots}",
        os_image="hollow",
    )
    shown: dict[str, Any] = node_object.node_object(node, facts)["status"]
    version = f"hollow://{numalet.__version__}"
    shown["nodeInfo"] |= {
        "containerRuntimeVersion": version,
        "kernelVersion": "hollow",
        "kubeProxyVersion": "",
    }
    return {**shown, "conditions": conditions(now)}


def conditions(now: datetime) -> list[dict[str, str]]:
    at = moments.seconds(now)
    beats = {"lastHeartbeatTime": at, "lastTransitionTime": at}
    ready = ("Ready", "KubeletReady", "the hollow node is running")
    return [
        {
            "type": name,
            "status": "True" if name == "Ready" else "False",
            "reason": reason,
            "message": message,
            **beats,
        }
        for name, reason, message in (*_PRESSURES, ready)
    ]


def lease(name: str, node_uid: str, now: datetime) -> dict[str, Any]:
    """Return the Lease of a node, which is deleted with its Node."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"leaseDurationSeconds": LEASE_SECONDS, **renewal(name, now)["spec"]},
    }


def renewal(name: str, now: datetime) -> dict[str, Any]:
    return {"spec": {"holderIdentity": name, "renewTime": moments.microseconds(now)}}
