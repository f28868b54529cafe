"""Nodes and pods as an API server prints them, with all that a cluster writes into them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.objects import ListedNode
from numalet.core.model import moments
from numalet.core.model.pod import Container, ContainerKind, Resources

BEGIN_SECONDS = 1_790_000_000


def written(at_seconds: float) -> str:
    return moments.seconds(datetime.fromtimestamp(at_seconds, UTC))


def quantities(resources: Resources) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in resources.items()}


def node_object(facts: ListedNode) -> dict[str, Any]:
    """A Node: taints, conditions, node info, a dozen images."""
    spec: dict[str, Any] = {"podCIDR": "10.1.2.0/24", "providerID": f"aws:///zone/{facts.name}"}
    if facts.is_cordoned:
        spec["unschedulable"] = True
    if facts.taints:
        spec["taints"] = [
            {"key": each.key, "value": each.value, "effect": each.effect.value}
            for each in facts.taints
        ]
    ready = "True" if facts.is_ready else "Unknown"
    conditions = [("MemoryPressure", "False"), ("PIDPressure", "False"), ("Ready", ready)]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            "creationTimestamp": written(BEGIN_SECONDS),
            "labels": dict(facts.labels),
            "name": facts.name,
            "resourceVersion": "4711",
            "uid": facts.uid,
        },
        "spec": spec,
        "status": {
            "addresses": [{"address": "10.0.0.1", "type": "InternalIP"}],
            "allocatable": quantities(facts.allocatable),
            "capacity": quantities(facts.capacity),
            "conditions": [
                {
                    "lastHeartbeatTime": written(BEGIN_SECONDS),
                    "lastTransitionTime": written(BEGIN_SECONDS),
                    "message": f"kubelet says {status}",
                    "reason": "Kubelet",
                    "status": status,
                    "type": name,
                }
                for name, status in conditions
            ],
            "images": [
                {"names": [f"registry.example/team/image-{at}@sha256:{'ab' * 32}"], "sizeBytes": at}
                for at in range(12)
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "kernelVersion": "6.1.0-44-amd64",
                "kubeletVersion": facts.kubelet_version,
                "operatingSystem": "linux",
            },
        },
    }


def pod_object(given: ClusterPod) -> dict[str, Any]:
    """A Pod of about 8 kB as kubectl prints it: volumes, mounts, conditions, statuses."""
    pod = given.pod
    metadata: dict[str, Any] = {
        "annotations": {
            "cni.projectcalico.org/podIP": "10.1.2.3/32",
            "checksum/config": "f" * 64,
        },
        "creationTimestamp": written(given.created_at_seconds or BEGIN_SECONDS),
        "generateName": f"{pod.name}-",
        "labels": dict(pod.labels),
        "name": pod.name,
        "namespace": pod.namespace,
        "resourceVersion": "123456789",
        "uid": pod.uid,
    }
    if given.is_being_deleted:
        metadata["deletionTimestamp"] = written(BEGIN_SECONDS + 1)
    if given.controller is not None:
        metadata["ownerReferences"] = [
            {
                "apiVersion": "apps/v1",
                "blockOwnerDeletion": True,
                "controller": True,
                "kind": given.controller.kind,
                "name": given.controller.name,
                "uid": given.controller.uid,
            }
        ]
    spec: dict[str, Any] = {
        "containers": [_container(each) for each in pod.app_containers],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": pod.priority or 0,
        "restartPolicy": "Always",
        "schedulerName": given.scheduler_name,
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [_toleration(each) for each in given.tolerations],
        "volumes": [_token_volume(), *({"name": f"v{at}", "emptyDir": {}} for at in range(4))],
    }
    if pod.node_name:
        spec["nodeName"] = pod.node_name
    if pod.init_containers:
        spec["initContainers"] = [_container(each) for each in pod.init_containers]
    if pod.overhead:
        spec["overhead"] = quantities(pod.overhead)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": _status(given),
    }


def _container(given: Container) -> dict[str, Any]:
    written_out: dict[str, Any] = {
        "command": ["/bin/server", "--config=/etc/server/config.yaml", "--verbose"],
        "env": [
            {"name": f"SETTING_{at}", "value": f"a value of some length, number {at}"}
            for at in range(15)
        ],
        "image": f"registry.example/team/{given.name}:v1.2.3",
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": {
            "failureThreshold": 3,
            "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
            "periodSeconds": 10,
            "successThreshold": 1,
            "timeoutSeconds": 1,
        },
        "name": given.name,
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {
            **({"limits": quantities(given.limits)} if given.limits else {}),
            **({"requests": quantities(given.requests)} if given.requests else {}),
        },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"mountPath": f"/var/data/{at}", "name": f"v{at}", "readOnly": True} for at in range(4)
        ],
    }
    if given.kind is ContainerKind.SIDECAR:
        written_out["restartPolicy"] = "Always"
    return written_out


def _toleration(given: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"operator": "Exists" if given.exists else "Equal"}
    if given.key:
        shown["key"] = given.key
    if given.value:
        shown["value"] = given.value
    if given.effect is not None:
        shown["effect"] = given.effect.value
    return shown


def _token_volume() -> dict[str, Any]:
    return {
        "name": "kube-api-access-x7k2p",
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {
                    "configMap": {
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                        "name": "kube-root-ca.crt",
                    }
                },
            ],
        },
    }


def _status(given: ClusterPod) -> dict[str, Any]:
    pod = given.pod
    status: dict[str, Any] = {
        "phase": pod.phase or ("Running" if pod.node_name else "Pending"),
        "qosClass": pod.qos_class.value,
        "conditions": [
            {
                "lastProbeTime": None,
                "lastTransitionTime": written(BEGIN_SECONDS),
                "status": "True",
                "type": each,
            }
            for each in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
    }
    if given.reason:
        status["reason"] = given.reason
    if given.message:
        status["message"] = given.message
    if given.started_at_seconds is not None:
        status["startTime"] = written(given.started_at_seconds)
        status["hostIP"], status["podIP"] = "10.0.0.1", "10.1.2.3"
        status["podIPs"] = [{"ip": "10.1.2.3"}]
        status["containerStatuses"] = [_container_status(each) for each in pod.app_containers]
    return status


def _container_status(given: Container) -> dict[str, Any]:
    return {
        "containerID": f"containerd://{'cd' * 32}",
        "image": f"registry.example/team/{given.name}:v1.2.3",
        "imageID": f"registry.example/team/{given.name}@sha256:{'ef' * 32}",
        "lastState": {},
        "name": given.name,
        "ready": True,
        "restartCount": 0,
        "started": True,
        "state": {"running": {"startedAt": written(BEGIN_SECONDS)}},
    }


def kubectl_json(objects: Iterable[Mapping[str, Any]]) -> str:
    """A list of objects as ``kubectl get -o json`` prints it."""
    listed = {
        "apiVersion": "v1",
        "items": list(objects),
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }
    return json.dumps(listed, indent=4) + "\n"


def write_kubectl_json(path: Path, objects: Iterable[Mapping[str, Any]]) -> None:
    """The same into a file, one object after the other, for lists that are large."""
    with path.open("w") as file:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        between = ""
        for each in objects:
            text = json.dumps(each, indent=4).replace("\n", "\n        ")
            file.write(f"{between}        {text}")
            between = ",\n"
        file.write('\n    ],\n    "kind": "List",\n    "metadata": {\n')
        file.write('        "resourceVersion": ""\n    }\n}\n')
