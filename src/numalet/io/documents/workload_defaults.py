"""What a server fills into a Pod, so that the API shows a whole object.

Kubernetes v1.32: ``SetDefaults_PodSpec`` and ``SetDefaults_Container``. Probes and volumes, whose
defaults are many, are refused or ignored here, so theirs are left alone.
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
    """The object with defaults filled in, without a status and without what servers keep.

    ``given`` is a copy that the function may change.
    """
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
    """Members that are not null, as a null counts as absent."""
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
    """``Always`` for an image that may change under its name."""
    named = image.rsplit("/", 1)[-1]
    _, _, tag = named.partition(":")
    return "IfNotPresent" if "@" in named or tag not in ("", "latest") else "Always"
