"""Accounts of a control plane with the rules of a role, or with fewer."""

from __future__ import annotations

import copy
import uuid
from pathlib import Path
from typing import Any, Final

from cluster.manifests import Permission
from running.control_plane import ControlPlane

_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_GUARDED: Final = {"apiGroups": ["numalet.test"], "resources": ["probes"], "verbs": ["get"]}
"""Nothing is there; whether it is allowed says whether a role is in force."""


def kubeconfig(plane: ControlPlane, rules: list[dict[str, Any]]) -> Path:
    """The kubeconfig of a new account with these rules, which are in force."""
    name = f"account-{uuid.uuid4().hex[:8]}"
    metadata = {"metadata": {"name": name}}
    plane.create("/api/v1/namespaces/default/serviceaccounts", metadata)
    plane.create(f"{_RBAC}/clusterroles", {**metadata, "rules": [*rules, _GUARDED]})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    binding = {**metadata, "roleRef": reference, "subjects": [subject]}
    plane.create(f"{_RBAC}/clusterrolebindings", binding)
    token = plane.service_account_token("default", name)
    headers = {"Authorization": f"Bearer {token}"}
    probe = {"group": "numalet.test", "resource": "probes", "verb": "get"}
    review = {"spec": {"resourceAttributes": probe}}
    # The authorizer follows roles and bindings by a watch of its own.
    while not plane.request("POST", _REVIEWS, review, headers=headers).json()["status"]["allowed"]:
        pass
    return plane.kubeconfig_of(token, name)


def allow(plane: ControlPlane, kubeconfig: Path, rules: list[dict[str, Any]]) -> None:
    """Give the account of a kubeconfig that was made here these rules."""
    name = kubeconfig.name.removesuffix(".kubeconfig")
    role = {"metadata": {"name": name}, "rules": [*rules, _GUARDED]}
    changed = plane.request("PUT", f"{_RBAC}/clusterroles/{name}", role)
    assert changed.is_success, changed.text


def without(rules: list[dict[str, Any]], permission: Permission) -> list[dict[str, Any]]:
    """The rules without this verb for this resource, and with all others."""
    group, resource, verb = permission
    narrower = []
    for rule in copy.deepcopy(rules):
        if group in rule["apiGroups"] and resource in rule["resources"]:
            verbs = [each for each in rule["verbs"] if each != verb]
            others = [each for each in rule["resources"] if each != resource]
            narrower.append({**rule, "resources": [resource], "verbs": verbs})
            rule["resources"] = others
        narrower.append(rule)
    return [each for each in narrower if each["resources"] and each["verbs"]]
