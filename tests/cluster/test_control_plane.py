"""The control plane of these tests is a real one: it authorizes, keeps, forgets, places, ends."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from running.control_plane import ControlPlane, lost


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def pod(name: str, node_name: str = "") -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    bound = {"nodeName": node_name} if node_name else {}
    spec = {"containers": [container], "automountServiceAccountToken": False, **bound}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def as_bearer(plane: ControlPlane, token: str, method: str, path: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return plane.request(method, path, headers=headers).status_code


def test_it_is_ready_and_says_the_release_of_its_programs(plane: ControlPlane) -> None:
    version = plane.get("/version")
    release = (int(version["major"]), int(version["minor"].rstrip("+")))
    assert release == plane.programs.release


def test_an_unknown_token_and_an_account_without_a_role_are_refused(plane: ControlPlane) -> None:
    namespace = plane.namespace()
    token = plane.service_account_token(namespace, "default")
    assert as_bearer(plane, "unknown", "GET", "/api/v1/nodes") == 401
    assert as_bearer(plane, token, "GET", "/api/v1/nodes") == 403


def test_what_the_api_server_drops_does_not_pass_as_created(plane: ControlPlane) -> None:
    sent = node("node-a")
    sent["spec"] = {"colour": "green"}
    with pytest.raises(AssertionError, match="colour: 'green' is gone"):
        plane.create("/api/v1/nodes", sent)


def test_objects_outlive_a_killed_api_server(plane: ControlPlane) -> None:
    before = plane.create("/api/v1/nodes", node("node-a"))
    plane.api_server.restart()
    assert plane.get("/api/v1/nodes/node-a") == before


def test_objects_outlive_a_killed_etcd(plane: ControlPlane) -> None:
    before = plane.create("/api/v1/nodes", node("node-a"))
    plane.etcd.restart()
    plane.api_server.restart()
    assert plane.get("/api/v1/nodes/node-a") == before


def test_nothing_of_one_test_is_left_for_the_next(plane: ControlPlane) -> None:
    assert plane.get("/api/v1/nodes")["items"] == []
    namespace = plane.namespace()
    plane.create("/api/v1/nodes", node("node-a"))
    plane.create(f"/api/v1/namespaces/{namespace}/pods", pod("a", "node-a"))
    plane.clear()
    assert plane.get("/api/v1/nodes")["items"] == []
    assert plane.get("/api/v1/pods")["items"] == []


def test_a_list_that_goes_on_after_a_compaction_is_gone(plane_without_cache: ControlPlane) -> None:
    plane = plane_without_cache
    for name in ("node-a", "node-b"):
        plane.create("/api/v1/nodes", node(name))
    first = plane.get("/api/v1/nodes?limit=1")
    plane.create("/api/v1/nodes", node("node-c"))
    plane.compact()
    answer = plane.request("GET", f"/api/v1/nodes?limit=1&continue={first['metadata']['continue']}")
    assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")


def test_a_watch_from_before_a_compaction_is_gone(plane_without_cache: ControlPlane) -> None:
    plane = plane_without_cache
    old = plane.get("/api/v1/nodes")["metadata"]["resourceVersion"]
    # The last change before a compaction is still there.
    for name in ("node-d", "node-e"):
        plane.create("/api/v1/nodes", node(name))
    plane.compact()
    path = f"/api/v1/nodes?watch=1&resourceVersion={old}"
    with plane.api.stream("GET", path) as answer:
        event = json.loads(next(answer.iter_lines()))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_the_scheduler_places_pods_that_the_controllers_make(plane: ControlPlane) -> None:
    namespace = plane.namespace()
    made = node("node-a")
    ready = [{"type": "Ready", "status": "True"}]
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    made["status"] = {"capacity": amounts, "allocatable": amounts, "conditions": ready}
    plane.create("/api/v1/nodes", made)
    plane.kubectl("taint", "node", "node-a", "node.kubernetes.io/not-ready:NoSchedule-")
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod("a")["spec"]}
    deployment = {
        "metadata": {"name": "a"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template},
    }
    plane.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment)
    plane.start_scheduler()
    plane.controllers.start()
    pods = f"/api/v1/namespaces/{namespace}/pods"
    placed = f"{pods}?watch=1&fieldSelector=spec.nodeName%3Dnode-a&timeoutSeconds=60"
    with plane.api.stream("GET", placed, timeout=90) as answer:
        names = set()
        for line in answer.iter_lines():
            names.add(json.loads(line)["object"]["metadata"]["name"])
            if len(names) == 2:
                break
    assert len(names) == 2


def test_all_of_it_is_gone_afterwards(own_plane: Callable[..., ControlPlane]) -> None:
    plane = own_plane()
    plane.start_scheduler()
    pids = [each.pid for each in plane.all_servers if each.is_running]
    assert len(pids) == 3
    plane.end()
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    with socket.socket() as attempt, pytest.raises(ConnectionRefusedError):
        attempt.connect(("127.0.0.1", httpx.URL(plane.server).port or 0))


def test_what_was_read_back_is_compared_value_by_value() -> None:
    sent = {"a": [{"b": 1}, {"c": "x"}], "d": {}}
    assert lost(sent, {"a": [{"b": 1, "more": 2}, {"c": "x"}], "d": {}, "e": 1}) == []
    assert lost(sent, {"a": [{"b": 2}, {}], "d": {}}) == [
        ".a[0].b: sent 1, read 2",
        ".a[1].c: 'x' is gone",
    ]
    assert lost(sent, {"a": [], "d": {}}) == [f".a: sent {sent['a']!r}, read []"]
