"""Each verb of each role is needed: with it an action succeeds, without it it is forbidden.

The table says for every verb of every role which action that is. A verb without an action, or an
action without a verb, fails.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

from cluster import manifests
from numalet.cluster.doctor import roles
from numalet.core.cluster import classes
from numalet.io.documents import numa_node_class
from running.control_plane import ControlPlane
from values import gpu_fleet

Action = Callable[["Account"], httpx.Response]
Need = tuple[str, str, str, str]
"""Role, API group, resource, verb."""

NUMA_NODES: Final = "/apis/numalet.dev/v1alpha1/numanodes"
CLASSES: Final = "/apis/numalet.dev/v1alpha1/numanodeclasses"
TOPOLOGIES: Final = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
BUDGETS: Final = "/apis/policy/{policy}/poddisruptionbudgets"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
PODS: Final = "/api/v1/namespaces/{namespace}/pods"
EVENTS: Final = "/api/v1/namespaces/{namespace}/events"
GUARDED: Final = {"apiGroups": ["numalet.test"], "resources": ["probes"], "verbs": ["get"]}
"""Nothing is there; whether it is allowed says whether a role is in force."""

PUBLISHED: Final = {"class": "0123456789abcdef", "published": "2026-01-01T00:00:00Z", "state": {}}
OBJECTS: Final[dict[str, dict[str, Any]]] = {
    "nodes": {"apiVersion": "v1", "kind": "Node"},
    "numanodes": {"apiVersion": "numalet.dev/v1alpha1", "kind": "NumaNode", "spec": PUBLISHED},
    "noderesourcetopologies": {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "zones": [],
    },
    "leases": {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {}},
    "pods": {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "none"}],
        },
    },
}


class Account:
    """Asks with the token of an account; ``there`` is the name of objects that exist."""

    def __init__(self, plane: ControlPlane, token: str, namespace: str, there: str) -> None:
        self._plane = plane
        self._token = token
        self.namespace = namespace
        self.there = there

    def ask(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        policy = self._plane.programs.policy_version
        asked = path.format(namespace=self.namespace, policy=policy)
        return self._plane.request(method, asked, body, headers=headers)


def get(path: str) -> Action:
    return lambda account: account.ask("GET", f"{path}/{account.there}")


def listed(path: str) -> Action:
    return lambda account: account.ask("GET", f"{path}?limit=1")


def watched(path: str) -> Action:
    return lambda account: account.ask("GET", f"{path}?watch=1&timeoutSeconds=1")


def created(path: str, resource: str) -> Action:
    """By create, as no object of this name is there."""
    name = f"new-{uuid.uuid4().hex[:8]}"
    body = {**OBJECTS[resource], "metadata": {"name": name}}
    return lambda account: account.ask("POST", path, body)


def applied(path: str, resource: str, part: str = "") -> Action:
    """By server-side apply, to an object that is there."""

    def act(account: Account) -> httpx.Response:
        body = {**OBJECTS[resource], "metadata": {"name": account.there}}
        query = "fieldManager=numalet&force=true"
        asked = f"{path}/{account.there}{part}?{query}"
        return account.ask("PATCH", asked, body, "application/apply-patch+yaml")

    return act


def applied_anew(path: str, resource: str) -> Action:
    """By server-side apply, to an object that is not there yet."""

    def act(account: Account) -> httpx.Response:
        name = f"new-{uuid.uuid4().hex[:8]}"
        body = {**OBJECTS[resource], "metadata": {"name": name}}
        asked = f"{path}/{name}?fieldManager=numalet&force=true"
        return account.ask("PATCH", asked, body, "application/apply-patch+yaml")

    return act


def merged(path: str, body: object, part: str = "") -> Action:
    def act(account: Account) -> httpx.Response:
        asked = f"{path}/{account.there}{part}"
        return account.ask("PATCH", asked, body, "application/merge-patch+json")

    return act


def deleted(path: str) -> Action:
    return lambda account: account.ask("DELETE", f"{path}/{account.there}?dryRun=All")


def a_class() -> dict[str, Any]:
    node = gpu_fleet.empty()
    return numa_node_class.class_object(classes.spec_of(node, gpu_fleet.kubelet_config()))


def class_created(account: Account) -> httpx.Response:
    body = {**a_class(), "metadata": {"name": uuid.uuid4().hex[:16]}}
    return account.ask("POST", CLASSES, body)


def event_created(account: Account) -> httpx.Response:
    about = {"kind": "Pod", "namespace": account.namespace, "name": account.there}
    body = {
        "metadata": {"generateName": "event-"},
        "involvedObject": about,
        "reason": "TopologyAffinityError",
        "type": "Warning",
    }
    return account.ask("POST", EVENTS, body)


def definition_read(account: Account) -> httpx.Response:
    return account.ask("GET", f"{DEFINITIONS}/numanodes.numalet.dev")


def _writer(role: str) -> dict[Need, Action]:
    """What it takes to keep the objects of a node current."""
    return {
        (role, "numalet.dev", "numanodes", "create"): applied_anew(NUMA_NODES, "numanodes"),
        (role, "numalet.dev", "numanodes", "patch"): applied(NUMA_NODES, "numanodes"),
        (role, "numalet.dev", "numanodeclasses", "create"): class_created,
    }


def _follower(role: str, group: str, resource: str, path: str) -> dict[Need, Action]:
    return {
        (role, group, resource, "list"): listed(path),
        (role, group, resource, "watch"): watched(path),
    }


NEEDS: Final[dict[Need, Action]] = {
    **_writer("numalet-publisher"),
    ("numalet-publisher", "topology.node.k8s.io", "noderesourcetopologies", "create"): (
        applied_anew(TOPOLOGIES, "noderesourcetopologies")
    ),
    ("numalet-publisher", "topology.node.k8s.io", "noderesourcetopologies", "patch"): (
        applied(TOPOLOGIES, "noderesourcetopologies")
    ),
    ("numalet-publisher", "", "nodes", "get"): get("/api/v1/nodes"),
    **_follower("numalet-reader", "", "nodes", "/api/v1/nodes"),
    **_follower("numalet-reader", "", "pods", "/api/v1/pods"),
    **_follower("numalet-reader", "policy", "poddisruptionbudgets", BUDGETS),
    **_follower("numalet-reader", "numalet.dev", "numanodes", NUMA_NODES),
    **_follower("numalet-reader", "numalet.dev", "numanodeclasses", CLASSES),
    **_follower("numalet-reader", "topology.node.k8s.io", "noderesourcetopologies", TOPOLOGIES),
    ("numalet-reader", "apiextensions.k8s.io", "customresourcedefinitions", "get"): definition_read,
    ("numalet-waker", "", "nodes", "patch"): merged(
        "/api/v1/nodes", {"metadata": {"labels": {"numalet.dev/woken": "1"}}}
    ),
    **_writer("numalet-hollow"),
    ("numalet-hollow", "", "nodes", "get"): get("/api/v1/nodes"),
    ("numalet-hollow", "", "nodes", "create"): created("/api/v1/nodes", "nodes"),
    ("numalet-hollow", "", "nodes", "patch"): merged("/api/v1/nodes", {"spec": {}}),
    ("numalet-hollow", "", "nodes", "delete"): deleted("/api/v1/nodes"),
    ("numalet-hollow", "", "nodes/status", "patch"): merged(
        "/api/v1/nodes", {"status": {"capacity": {"cpu": "1"}}}, "/status"
    ),
    ("numalet-hollow", "coordination.k8s.io", "leases", "create"): applied_anew(LEASES, "leases"),
    ("numalet-hollow", "coordination.k8s.io", "leases", "patch"): applied(LEASES, "leases"),
    **_follower("numalet-hollow", "", "pods", "/api/v1/pods"),
    ("numalet-hollow", "", "pods", "delete"): deleted(PODS),
    ("numalet-hollow", "", "pods/status", "patch"): merged(
        PODS, {"status": {"phase": "Failed", "reason": "TopologyAffinityError"}}, "/status"
    ),
    ("numalet-hollow", "", "events", "create"): event_created,
}


def test_every_verb_of_every_role_has_an_action_that_needs_it() -> None:
    allowed = {
        (name, *permission)
        for name, role in manifests.of_kind("ClusterRole").items()
        for permission in manifests.permissions(role)
    }
    assert allowed == NEEDS.keys()


def test_roles_allow_nothing_that_amounts_to_more() -> None:
    for role in manifests.of_kind("ClusterRole").values():
        for group, resource, verb in manifests.permissions(role):
            assert "*" not in (group, resource, verb)
            assert resource not in ("secrets", "nodes/proxy", "pods/exec", "serviceaccounts/token")
            assert verb not in ("escalate", "bind", "impersonate")


def test_doctor_asks_for_what_accounts_are_allowed() -> None:
    all_roles = manifests.of_kind("ClusterRole")
    allowed: dict[str, set[tuple[str, str, str]]] = {}
    for binding in manifests.of_kind("ClusterRoleBinding").values():
        (subject,) = binding["subjects"]
        role = all_roles[binding["roleRef"]["name"]]
        allowed.setdefault(subject["name"], set()).update(manifests.permissions(role))
    asked = {
        name: {(each.group, each.resource, each.verb) for each in needed}
        for name, needed in roles.ACCOUNTS.items()
    }
    definitions = ("apiextensions.k8s.io", "customresourcedefinitions", "get")
    assert asked == {name: allowed[name] - {definitions} for name in asked}


@pytest.fixture
def there(defined: ControlPlane) -> tuple[str, str]:
    """A namespace, and the name of one object of every kind that a role is about."""
    namespace, name = defined.namespace(), f"there-{uuid.uuid4().hex[:8]}"
    paths = {
        "nodes": "/api/v1/nodes",
        "numanodes": NUMA_NODES,
        "noderesourcetopologies": TOPOLOGIES,
        "leases": LEASES.format(namespace=namespace),
        "pods": PODS.format(namespace=namespace),
    }
    for resource, path in paths.items():
        defined.create(path, {**OBJECTS[resource], "metadata": {"name": name}})
    return namespace, name


def _account_of(
    plane: ControlPlane, rules: list[dict[str, Any]], namespace: str, there: str
) -> Account:
    """An account with these rules, which are in force."""
    name = f"account-{uuid.uuid4().hex[:8]}"
    metadata = {"metadata": {"name": name}}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    plane.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", metadata)
    plane.create(f"{rbac}/clusterroles", {**metadata, "rules": [*rules, GUARDED]})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    binding = {**metadata, "roleRef": reference, "subjects": [subject]}
    plane.create(f"{rbac}/clusterrolebindings", binding)
    account = Account(plane, plane.service_account_token(namespace, name), namespace, there)
    probe = {"group": "numalet.test", "resource": "probes", "verb": "get"}
    review = {"spec": {"resourceAttributes": probe}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    # The authorizer follows roles and bindings by a watch of its own.
    while not account.ask("POST", path, review).json()["status"]["allowed"]:
        pass
    return account


def _without(rules: list[dict[str, Any]], group: str, resource: str, verb: str) -> Any:
    """The rules without this verb for this resource, and with all others."""
    narrower = []
    for rule in copy.deepcopy(rules):
        if group in rule["apiGroups"] and resource in rule["resources"]:
            verbs = [each for each in rule["verbs"] if each != verb]
            others = [each for each in rule["resources"] if each != resource]
            narrower.append({**rule, "resources": [resource], "verbs": verbs})
            rule["resources"] = others
        narrower.append(rule)
    return [each for each in narrower if each["resources"] and each["verbs"]]


@pytest.mark.parametrize("role", sorted({need[0] for need in NEEDS}))
def test_without_a_verb_its_action_is_forbidden_and_with_it_allowed(
    plane: ControlPlane, there: tuple[str, str], role: str
) -> None:
    rules = manifests.of_kind("ClusterRole")[role]["rules"]
    whole = _account_of(plane, rules, *there)
    wrong: list[str] = []
    for (name, group, resource, verb), action in NEEDS.items():
        if name != role:
            continue
        narrower = _account_of(plane, _without(rules, group, resource, verb), *there)
        refused, allowed = action(narrower), action(whole)
        if refused.status_code != httpx.codes.FORBIDDEN or not allowed.is_success:
            said = f"{refused.status_code} without, {allowed.status_code} with"
            wrong.append(f"{verb} {resource}.{group}: {said}: {json.dumps(allowed.text[:300])}")
    assert wrong == []
