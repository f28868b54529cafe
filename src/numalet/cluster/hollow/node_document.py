"""The objects that a hollow node has in the API server beside its pods: Node, lease."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

import numalet
from numalet.agent.kubernetes import node_object
from numalet.core.model import moments
from numalet.core.model.value import Value
from numalet.core.node.node import Node

HOLLOW: Final = "numalet.dev/hollow"
"""The label by which hollow nodes are known; its value is the prefix of their names."""
POOL: Final = "numalet.dev/pool"
KIND: Final = "node.kubernetes.io/instance-type"
FAULT: Final = "numalet.dev/hollow-fault"
"""The annotation by which a hollow node is asked to fail."""
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
    """What a hollow node is called, and to what it belongs."""

    name: str
    prefix: str
    kind: str
    pool: str = ""
    labels: Mapping[str, str] = MappingProxyType({})

    def all_labels(self, node: Node) -> dict[str, str]:
        """Every label with which the node registers; the user's own win."""
        return {
            **node_object.labels(self.name, node.rules.machine.os, ARCHITECTURE),
            KIND: self.kind,
            HOLLOW: self.prefix,
            **({POOL: self.pool} if self.pool else {}),
            **self.labels,
        }


def whole(node: Node, naming: NodeNaming, boots: int, now: datetime) -> dict[str, Any]:
    """The Node object with which a hollow node registers."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": naming.name, "labels": naming.all_labels(node)},
        "status": status(node, naming, boots, now),
    }


def status(node: Node, naming: NodeNaming, boots: int, now: datetime) -> dict[str, Any]:
    """``status`` of the Node: what it has, and that it is ready. ``boots`` counts its starts."""
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
    """``status.conditions`` of a node that is well."""
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
    """The Lease of a node, which goes when its Node goes."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"leaseDurationSeconds": LEASE_SECONDS, **renewal(name, now)["spec"]},
    }


def renewal(name: str, now: datetime) -> dict[str, Any]:
    """The merge patch that renews a lease."""
    return {"spec": {"holderIdentity": name, "renewTime": moments.microseconds(now)}}
