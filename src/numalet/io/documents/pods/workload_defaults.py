"""Applies the defaults that an API server sets in a Pod, so that the API shows a complete object.

Kubernetes v1.32: ``SetDefaults_PodSpec`` and ``SetDefaults_Container``. Probes and volumes have
many defaults but are refused or ignored here, so they stay as written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from numalet.core.model.pod import Container, Pod

_SERVERS_OWN_TEXT: Final = """
    creationTimestamp deletionGracePeriodSeconds deletionTimestamp generation managedFields
    resourceVersion selfLink
"""
_SERVERS_OWN: Final = frozenset(_SERVERS_OWN_TEXT.split())
_SPEC: Final = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
}
_CONTAINER: Final = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


def manifest(given: Mapping[str, Any], pod: Pod, node_name: str) -> dict[str, Any]:
    """The object with defaults, without status and server-owned metadata; may change ``given``."""
    metadata = _present(given.get("metadata"), _SERVERS_OWN)
    metadata |= {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    spec = {**_SPEC, **_present(given.get("spec"))}
    spec.setdefault("securityContext", {})
    if node_name:
        spec["nodeName"] = node_name
    containers = {container.name: container for container in pod.containers()}
    for name in ("containers", "initContainers"):
        if name in spec:
            spec[name] = [_container(each, containers[each["name"]]) for each in spec[name]]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _present(value: Any, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Members that are not null; null means absent."""
    return {
        name: member
        for name, member in (value or {}).items()
        if member is not None and name not in without
    }


def _container(value: Mapping[str, Any], container: Container) -> dict[str, Any]:
    filled = {**_CONTAINER, **_present(value)}
    if image := filled.get("image"):
        filled.setdefault("imagePullPolicy", _pull_policy(image))
    asked = {"limits": container.limits, "requests": container.requests}
    filled["resources"] = {
        name: {resource: str(quantity) for resource, quantity in quantities.items()}
        for name, quantities in asked.items()
        if quantities
    }
    return filled


def _pull_policy(image: str) -> str:
    """``Always`` for an image whose tag may move."""
    named = image.rsplit("/", 1)[-1]
    _, _, tag = named.partition(":")
    return "IfNotPresent" if "@" in named or tag not in ("", "latest") else "Always"
