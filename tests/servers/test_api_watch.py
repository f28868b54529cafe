"""Watches over a real socket."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.servers.api import collection
from numalet.core.model.findings import BadInput
from numalet.core.workload.run import ContainerPhase, ContainerRun, Exit, ExitReason, PodRun
from numalet.io.agent_client.client import AgentClient
from numalet.shared.kubernetes.node_object import Unready
from numalet.shared.web import http_service
from servers import views
from servers.asking import asked, relabelled
from servers.pods import pod
from servers.served import Api, served

PODS = "/api/v1/namespaces/default/pods"


def _watch(api: Api, path: str = PODS, **query: Any) -> Iterator[dict[str, Any]]:
    for line in api.client().stream(path, {"watch": True, **query}):
        yield json.loads(line)


def _short(change: dict[str, Any]) -> tuple[str, str]:
    return change["type"], change["object"]["metadata"]["name"]


def test_a_watch_begins_with_what_is_there_and_goes_on(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    changes = _watch(api)
    assert _short(next(changes)) == ("ADDED", "a")
    client.post(PODS, pod("b"))
    assert _short(next(changes)) == ("ADDED", "b")
    client.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    assert _short(next(changes)) == ("MODIFIED", "a")
    assert _short(next(changes)) == ("DELETED", "a")


def test_a_watch_does_not_hold_up_a_stop(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # If it did, it would for longer than a test may take.
    monkeypatch.setattr(http_service, "STOP_SECONDS", 3600)
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        with served(Path(folder) / "agent.sock") as api, api.client() as client:
            client.post(PODS, pod("a"))
            changes = _watch(api)
            assert _short(next(changes)) == ("ADDED", "a")
        with pytest.raises(BadInput) as broken:
            next(changes)
        assert [each.code for each in broken.value.findings] == ["client/broken-off"]
    # The log of an agent has a form of its own.
    assert capfd.readouterr().err == ""


def test_a_watch_goes_on_from_a_version(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    version = client.get(PODS)["metadata"]["resourceVersion"]
    client.post(PODS, pod("b"))
    changes = _watch(api, resourceVersion=version, timeoutSeconds=30)
    assert _short(next(changes)) == ("ADDED", "b")


def test_a_watch_from_a_forgotten_version_says_so(api: Api) -> None:
    api.do(lambda door: setattr(door.pods, "forgotten", 5))
    (change,) = _watch(api, resourceVersion=1)
    assert change["type"] == "ERROR"
    assert (change["object"]["code"], change["object"]["reason"]) == (410, "Expired")
    assert change["object"]["message"] == "too old resource version: 1 (5)"


def test_a_watch_ends_with_its_time(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    assert [_short(change) for change in _watch(api, timeoutSeconds=1)] == [("ADDED", "a")]


def test_a_watch_ends_when_the_agent_ends_it(api: Api, client: AgentClient) -> None:
    changes = _watch(api)
    client.post(PODS, pod("a"))
    assert _short(next(changes)) == ("ADDED", "a")

    def end(door: Any) -> None:
        door.pods.is_over = True
        door.pods.wake()

    api.do(end)
    assert list(changes) == []


def test_a_watch_shows_only_its_namespace(api: Api, client: AgentClient) -> None:
    changes = _watch(api)
    client.post("/api/v1/namespaces/other/pods", pod("hidden"))
    client.post(PODS, pod("a"))
    assert _short(next(changes)) == ("ADDED", "a")


def test_bookmarks_tell_how_far_a_quiet_watch_has_come(
    api: Api, client: AgentClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "BOOKMARK_SECONDS", 0.05)
    client.post(PODS, pod("a"))
    changes = _watch(api, allowWatchBookmarks=True)
    assert _short(next(changes)) == ("ADDED", "a")
    bookmark = next(changes)
    assert (bookmark["type"], bookmark["object"]["kind"]) == ("BOOKMARK", "Pod")
    version = api.door.view().resource_version
    assert bookmark["object"]["metadata"]["resourceVersion"] == str(version)


def _ended(run: PodRun) -> PodRun:
    end = Exit(code=0, reason=ExitReason.COMPLETED, finished_at=views.later(9))
    gone = ContainerRun(name="c", phase=ContainerPhase.TERMINATED, attempt=1, last_exit=end)
    return replace(run, containers={"c": gone})


@pytest.mark.parametrize("resource_version", ["0", "1"])
def test_a_pod_comes_and_goes_for_a_selector(
    api: Api, client: AgentClient, resource_version: str
) -> None:
    never = pod("a")
    never["spec"]["restartPolicy"] = "Never"
    query = {"fieldSelector": "status.phase=Running", "resourceVersion": resource_version}
    running = _watch(api, **query)
    done = _watch(api, fieldSelector="status.phase=Succeeded", resourceVersion=resource_version)
    client.post(PODS, never)
    assert _short(next(running)) == ("ADDED", "a")
    api.do(lambda door: door.update("a", _ended))
    assert _short(next(running)) == ("DELETED", "a")
    assert _short(next(done)) == ("ADDED", "a")


def test_events_are_watched_too(api: Api, client: AgentClient) -> None:
    changes = _watch(api, "/api/v1/events")
    client.post(PODS, pod("wide", "40Gi"))
    change = next(changes)
    assert (change["type"], change["object"]["reason"]) == ("ADDED", "TopologyAffinityError")
    selected = _watch(
        api, "/api/v1/namespaces/default/events", fieldSelector="involvedObject.name=wide"
    )
    assert next(selected)["object"]["involvedObject"]["name"] == "wide"


def test_events_of_forgotten_versions_are_expired(api: Api) -> None:
    api.do(lambda door: setattr(door.events, "forgotten", 5))
    (change,) = _watch(api, "/api/v1/events", resourceVersion=1)
    assert change["object"]["code"] == 410


def test_placements_are_watched_too(api: Api, client: AgentClient) -> None:
    changes = _watch(api, "/apis/numalet.dev/v1alpha1/podplacements")
    client.post(PODS, pod("a"))
    change = next(changes)
    assert _short(change) == ("ADDED", "a")
    assert change["object"]["numaNodes"] == [0]
    api.do(lambda door: setattr(door.pods, "forgotten", 5))
    (change,) = _watch(api, "/apis/numalet.dev/v1alpha1/podplacements", resourceVersion=1)
    assert change["object"]["code"] == 410


def _labelled(name: str, **labels: str) -> dict[str, Any]:
    return pod(name, labels=labels)


def _relabelled(api: Api, name: str, **labels: str) -> None:
    relabelled(api.path, f"{PODS}/{name}", **labels)


@pytest.mark.parametrize("is_from_version", [False, True], ids=["from the start", "from a version"])
def test_what_never_passed_a_selector_is_never_deleted_for_it(
    api: Api, client: AgentClient, is_from_version: bool
) -> None:
    version = str(api.door.view().resource_version)
    at = {"resourceVersion": version} if is_from_version else {}
    client.post(PODS, _labelled("other", app="b"))
    changes = _watch(api, labelSelector="app=a", **at)
    _relabelled(api, "other", tier="x")
    client.delete(f"{PODS}/other", {"gracePeriodSeconds": 0})
    client.post(PODS, _labelled("mine", app="b"))
    _relabelled(api, "mine", app="a")
    assert _short(next(changes)) == ("ADDED", "mine")
    _relabelled(api, "mine", tier="x")
    assert _short(next(changes)) == ("MODIFIED", "mine")
    _relabelled(api, "mine", app="b")
    change = next(changes)
    assert _short(change) == ("DELETED", "mine")
    # As it was when it last passed, at the version at which it ceased to.
    metadata = change["object"]["metadata"]
    assert metadata["labels"] == {"app": "a", "tier": "x"}
    assert metadata["resourceVersion"] == str(api.door.view().resource_version)


def test_a_deleted_pod_has_the_version_of_its_deletion(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    version = client.get(PODS)["metadata"]["resourceVersion"]
    client.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    changes = _watch(api, resourceVersion=version)
    versions = [int(next(changes)["object"]["metadata"]["resourceVersion"]) for _ in range(2)]
    assert versions == [int(version) + 1, int(version) + 2]
    # Whoever goes on from there has seen everything.
    client.post(PODS, pod("b"))
    assert _short(next(_watch(api, resourceVersion=versions[1]))) == ("ADDED", "b")


def test_a_watch_waits_for_the_version_that_is_about_to_come(api: Api, client: AgentClient) -> None:
    version = api.door.view().resource_version
    with ThreadPoolExecutor() as others:
        waiting = others.submit(lambda: next(_watch(api, resourceVersion=version + 1)))
        client.post(PODS, pod("a"))
        client.post(PODS, pod("b"))
        assert _short(waiting.result(200)) in (("ADDED", "a"), ("ADDED", "b"))


def test_a_watch_from_the_future_says_so(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "FRESH_SECONDS", 0.01)
    future = api.door.view().resource_version + 1000
    plain: dict[str, Any] = {}
    for query in (plain, {"sendInitialEvents": True, "resourceVersionMatch": "NotOlderThan"}):
        (change,) = _watch(api, resourceVersion=future, **query)
        status = change["object"]
        assert (change["type"], status["code"], status["reason"]) == ("ERROR", 504, "Timeout")
        assert status["details"]["causes"] == [
            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        ]


def test_a_watch_begins_sorted_and_marks_the_end_of_what_was_there(
    api: Api, client: AgentClient
) -> None:
    for space, name in (("b", "a"), ("default", "z"), ("default", "c"), ("b-a", "a")):
        client.post(f"/api/v1/namespaces/{space}/pods", pod(name, "1Gi", "1"))
    query: dict[str, Any] = {
        "sendInitialEvents": True,
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": True,
    }
    changes = _watch(api, "/api/v1/pods", **query)
    found = [next(changes)["object"]["metadata"] for _ in range(4)]
    assert [f"{each['namespace']}/{each['name']}" for each in found] == [
        "b-a/a",
        "b/a",
        "default/c",
        "default/z",
    ]
    mark = next(changes)
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_watch_may_begin_with_nothing(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    query: dict[str, Any] = {"sendInitialEvents": False, "resourceVersionMatch": "NotOlderThan"}
    assert [*_watch(api, timeoutSeconds=1, **query)] == []


def test_a_watch_that_ends_says_where_the_next_one_goes_on(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    *_, last = _watch(api, timeoutSeconds=1, allowWatchBookmarks=True)
    assert last["type"] == "BOOKMARK"
    version = api.door.view().resource_version
    assert last["object"]["metadata"]["resourceVersion"] == str(version)


def test_namespaces_and_nodes_are_watched(api: Api, client: AgentClient) -> None:
    version = client.get("/api/v1/namespaces")["metadata"]["resourceVersion"]
    spaces = _watch(api, "/api/v1/namespaces", resourceVersion=version)
    client.post("/api/v1/namespaces/fresh/pods", pod("a"))
    assert _short(next(spaces)) == ("ADDED", "fresh")
    client.delete("/api/v1/namespaces/fresh/pods/a", {"gracePeriodSeconds": 0})
    change = next(spaces)
    assert _short(change) == ("DELETED", "fresh")
    first = client.get("/api/v1/nodes/node7")
    nodes = _watch(api, "/api/v1/nodes")
    assert _short(next(nodes)) == ("ADDED", "node7")
    client.post(PODS, pod("b"))
    assert client.get("/api/v1/nodes/node7") == first, "a pod is no change of the node"
    version = client.get("/api/v1/nodes")["metadata"]["resourceVersion"]

    def hold(door: Any) -> None:
        now = door.view().resource_version + 1
        door.change(unready=Unready.STATE_UNWRITABLE, resource_version=now)

    api.do(hold)
    for watch in (nodes, _watch(api, "/api/v1/nodes", resourceVersion=version)):
        change = next(watch)
        assert _short(change) == ("MODIFIED", "node7")
        conditions = {each["type"]: each for each in change["object"]["status"]["conditions"]}
        assert conditions["Ready"]["reason"] == "NodeStateNotWritable"


def test_what_can_not_be_watched_says_so(api: Api) -> None:
    code, status = asked(api.path, "GET", "/apis/numalet.dev/v1alpha1/nodestates?watch=1")
    assert (code, status["reason"]) == (405, "MethodNotAllowed")
