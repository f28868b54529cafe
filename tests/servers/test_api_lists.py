"""Lists: their order, their chunks, the version they are of, the form they are asked for in."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from numalet.agent.servers.api import collection
from numalet.io.agent_client.client import AgentClient
from servers.asking import asked, relabelled
from servers.pods import pod
from servers.served import Api

PODS = "/api/v1/namespaces/default/pods"
NAMES = ["e", "b", "a", "d", "c"]
PROTOBUF = "application/vnd.kubernetes.protobuf"
PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def _listed(root: Path, **query: Any) -> tuple[int, Any]:
    return asked(root / "agent.sock", "GET", f"{PODS}?{urlencode(query)}")


def _names(found: Any) -> list[str]:
    return [each["metadata"]["name"] for each in found["items"]]


@pytest.fixture
def five(client: AgentClient) -> None:
    for name in NAMES:
        client.post(PODS, pod(name, "1Gi", "1", labels={"app": name}))


@pytest.mark.usefixtures("five")
def test_a_list_is_sorted(client: AgentClient) -> None:
    client.post("/api/v1/namespaces/a/pods", pod("z", "1Gi", "1"))
    assert _names(client.get(PODS)) == sorted(NAMES)
    assert _names(client.get("/api/v1/pods")) == ["z", *sorted(NAMES)]
    placed = client.get("/apis/numalet.dev/v1alpha1/podplacements")
    assert _names(placed) == ["z", *sorted(NAMES)]


@pytest.mark.usefixtures("five")
def test_chunks_are_of_one_moment(root: Path, client: AgentClient) -> None:
    _, first = _listed(root, limit=2)
    assert _names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    # Meanwhile one goes, one comes, one becomes different.
    before = client.get(f"{PODS}/c")
    client.delete(f"{PODS}/d", {"gracePeriodSeconds": 0})
    client.post(PODS, pod("bb", "1Gi", "1"))
    relabelled(root / "agent.sock", f"{PODS}/c", app="other")
    going_on = first["metadata"]["continue"]
    _, second = _listed(root, limit=2, **{"continue": going_on})
    assert _names(second) == ["c", "d"]
    assert second["items"][0] == before
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    _, last = _listed(root, limit=2, **{"continue": second["metadata"]["continue"]})
    assert _names(last) == ["e"]
    assert "continue" not in last["metadata"]
    assert _names(client.get(PODS)) == ["a", "b", "bb", "c", "e"]


@pytest.mark.usefixtures("five")
def test_chunks_of_what_is_selected_and_of_tables(root: Path) -> None:
    query = {"limit": 1, "labelSelector": "app in (b, d)"}
    _, first = _listed(root, **query)
    assert "remainingItemCount" not in first["metadata"]
    _, second = _listed(root, **query, **{"continue": first["metadata"]["continue"]})
    assert _names(first) + _names(second) == ["b", "d"]
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    _, found = asked(root / "agent.sock", "GET", f"{PODS}?limit=3", **table)
    assert [row["cells"][0] for row in found["rows"]] == ["a", "b", "c"]
    assert found["metadata"]["continue"]


@pytest.mark.usefixtures("five")
def test_a_list_that_is_forgotten_is_gone_and_can_be_gone_on_with(api: Api, root: Path) -> None:
    _, first = _listed(root, limit=2)
    api.do(lambda door: door.put(door.named("a")))
    api.do(lambda door: setattr(door.pods, "forgotten", door.view().resource_version))
    code, status = _listed(root, limit=2, **{"continue": first["metadata"]["continue"]})
    assert (code, status["reason"]) == (410, "Expired")
    assert "The provided continue parameter is too old" in status["message"]
    _, rest = _listed(root, **{"continue": status["metadata"]["continue"]})
    assert _names(rest) == ["c", "d", "e"]


@pytest.mark.usefixtures("five")
def test_a_list_may_be_of_an_exact_version(root: Path, client: AgentClient) -> None:
    version = client.get(PODS)["metadata"]["resourceVersion"]
    client.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    exact = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    code, found = _listed(root, **exact)
    assert (code, _names(found)) == (200, sorted(NAMES))
    assert found["metadata"]["resourceVersion"] == version
    not_older = {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}
    assert _names(_listed(root, **not_older)[1]) == ["b", "c", "d", "e"]


@pytest.mark.parametrize("match", [{}, {"resourceVersionMatch": "NotOlderThan"}])
@pytest.mark.parametrize("path", [PODS, "/api/v1/nodes", "/api/v1/events", "/api/v1/namespaces"])
def test_a_list_of_the_future_is_not_there_yet(
    api: Api, match: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "FRESH_SECONDS", 0.01)
    version = api.door.view().resource_version + 1
    query = urlencode({"resourceVersion": version, **match})
    code, status = asked(api.path, "GET", f"{path}?{query}")
    assert (code, status["reason"]) == (504, "Timeout")
    assert "Too large resource version" in status["message"]
    assert status["details"]["retryAfterSeconds"] == 1


@pytest.mark.parametrize("path", [PODS, "/api/v1/nodes", "/api/v1/events"])
def test_a_list_waits_for_the_version_that_is_about_to_come(
    api: Api, client: AgentClient, path: str
) -> None:
    version = api.door.view().resource_version
    query = urlencode({"resourceVersion": version + 1})
    with ThreadPoolExecutor() as others:
        waiting = others.submit(asked, api.path, "GET", f"{path}?{query}")
        # Whichever of the two is first, the answer is of the version that was asked for.
        client.post(PODS, pod("a"))
        code, found = waiting.result(200)
    assert code == 200
    assert int(found["metadata"]["resourceVersion"]) > version


@pytest.mark.slow
def test_a_version_that_never_comes_is_waited_for_as_long_as_by_an_api_server(api: Api) -> None:
    version = api.door.view().resource_version
    begun = time.monotonic()
    code, status = asked(api.path, "GET", f"{PODS}?resourceVersion={version + 1}")
    assert (code, status["reason"]) == (504, "Timeout")
    assert time.monotonic() - begun >= collection.FRESH_SECONDS == 3
    # A version that a list is to be of exactly is none that comes later.
    exact = urlencode({"resourceVersion": version + 1, "resourceVersionMatch": "Exact"})
    assert asked(api.path, "GET", f"{PODS}?{exact}")[0] == 504


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("resourceVersion=x", 400),
        ("resourceVersion=-1", 400),
        ("limit=x", 400),
        ("continue=%00", 400),
        ("continue=eyJhIjoxfQ", 400),
        ("continue=" + "A" * 5000, 400),
        ("continue=eyJhZnRlciI6ImEifQ&resourceVersion=1", 400),
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=Older&resourceVersion=1", 422),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422),
        ("continue=eyJhZnRlciI6ImEifQ&resourceVersionMatch=Exact", 422),
    ],
)
def test_what_can_not_be_listed_is_said(root: Path, api: Api, query: str, code: int) -> None:
    found, status = asked(root / "agent.sock", "GET", f"{PODS}?{query}")
    assert (found, status["kind"]) == (code, "Status")


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize("path", [f"{PODS}", f"{PODS}/a"])
def test_the_form_is_one_that_the_client_takes(api: Api, path: str) -> None:
    for accept in ("", "*/*", "application/*", f"{PROTOBUF},application/json", "text/x, */*;q=0.1"):
        code, found = asked(api.path, "GET", path, accept=accept)
        assert (code, found["apiVersion"]) == (200, "v1")
    for accept in (PROTOBUF, "text/html", "application/json;q=0", "application/json;as=Chart;v=v1"):
        code, found = asked(api.path, "GET", path, accept=accept)
        assert (code, found["reason"]) == (406, "NotAcceptable")
    code, found = asked(api.path, "GET", path, accept=PARTIAL)
    one = found["items"][0] if "items" in found else found
    assert one["kind"] == "PartialObjectMetadata"
    assert sorted(one) == ["apiVersion", "kind", "metadata"]


def test_every_failure_has_details(api: Api) -> None:
    for method, path in (
        ("PATCH", f"{PODS}/a/ephemeralcontainers"),
        ("GET", "/api/v1/secrets"),
        ("POST", "/healthz"),
        ("GET", f"{PODS}/absent"),
        ("POST", PODS),
    ):
        _, status = asked(api.path, method, path)
        assert isinstance(status["details"], dict)
