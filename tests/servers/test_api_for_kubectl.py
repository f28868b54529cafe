"""What kubectl asks for beside the objects themselves: discovery, tables, patches."""

from __future__ import annotations

import pytest
from starlette.responses import Response

from numalet.agent.servers.api import status
from numalet.core.model import input_error
from numalet.core.model.findings import Severity
from numalet.io.agent_client.client import AgentClient
from servers.asking import TABLE, asked, lines
from servers.pods import pod
from servers.served import Api

PODS = "/api/v1/namespaces/default/pods"
OLD_TABLE = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"


def test_every_kind_is_listed_and_is_there(api: Api, client: AgentClient) -> None:
    assert client.get("/api")["versions"] == ["v1"]
    (group,) = client.get("/apis")["groups"]
    assert client.get(f"/apis/{group['name']}")["preferredVersion"] == group["preferredVersion"]
    paths = ("/api/v1", f"/apis/{group['preferredVersion']['groupVersion']}")
    found = {path: client.get(path)["resources"] for path in paths}
    for path, resources in found.items():
        for each in resources:
            if "list" in each["verbs"]:
                kind = client.get(f"{path}/{each['name']}")["kind"]
                assert kind == f"{each['kind']}List"
    pods = next(each for each in found["/api/v1"] if each["name"] == "pods")
    assert (pods["shortNames"], pods["namespaced"], pods["categories"]) == (["po"], True, ["all"])


def test_the_version_is_the_release_that_is_followed(client: AgentClient) -> None:
    version = client.get("/version")
    assert version["gitVersion"].startswith("v1.32.0+numalet.")
    assert (version["major"], version["minor"]) == ("1", "32")


def test_every_path_that_is_served_is_in_the_open_api_document(api: Api) -> None:
    code, index = asked(api.path, "GET", "/openapi/v3")
    assert code == 200
    documents = [
        asked(api.path, "GET", each["serverRelativeURL"])[1] for each in index["paths"].values()
    ]
    operations = {
        (path, method)
        for document in documents
        for path, item in document["paths"].items()
        for method in item
    }
    assert (PODS.replace("default", "{namespace}"), "post") in operations
    assert (f"{PODS}/{{name}}".replace("default", "{namespace}"), "patch") in operations
    assert ("/healthz", "get") in operations
    assert asked(api.path, "GET", "/openapi/v3/apis/other")[0] == 404


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        (TABLE, "meta.k8s.io/v1"),
        (f"{OLD_TABLE},application/json", "meta.k8s.io/v1beta1"),
        ("application/json;as=Table;v=v9;g=meta.k8s.io, application/json", None),
        ("application/json;as=Other;v=v1, application/json", None),
        (f"application/json,{OLD_TABLE}", None),
        ("*/*", None),
    ],
)
def test_a_table_is_given_to_whoever_prefers_it(
    api: Api, client: AgentClient, accept: str, version: str | None
) -> None:
    client.post(PODS, pod("wide", "40Gi"))
    _, found = asked(api.path, "GET", PODS, accept=accept)
    if version is None:
        assert found["kind"] == "PodList"
        return
    assert (found["kind"], found["apiVersion"]) == ("Table", version)
    (row,) = found["rows"]
    assert row["cells"][:4] == ["wide", "0/1", "TopologyAffinityError", "0"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "wide"


@pytest.mark.parametrize("path", ["/api/v1/nodes", "/api/v1/namespaces", "/api/v1/events"])
def test_everything_can_be_a_table(api: Api, client: AgentClient, path: str) -> None:
    client.post(PODS, pod("wide", "40Gi"))
    items = client.get(path)["items"]
    _, found = asked(api.path, "GET", path, accept=TABLE)
    columns = found["columnDefinitions"]
    assert len(found["rows"]) == len(items) > 0
    assert all(len(row["cells"]) == len(columns) for row in found["rows"])
    name = items[0]["metadata"]["name"]
    one = f"/api/v1/namespaces/default/events/{name}" if "events" in path else f"{path}/{name}"
    _, single = asked(api.path, "GET", one, accept=TABLE)
    assert [row["object"]["metadata"]["name"] for row in single["rows"]] == [name]


def test_rows_have_as_much_of_their_objects_as_is_asked_for(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    found = {
        include: asked(api.path, "GET", f"{PODS}/a?includeObject={include}", accept=TABLE)[1]
        for include in ("None", "Object")
    }
    assert found["None"]["rows"][0]["object"] is None
    assert found["Object"]["rows"][0]["object"] == client.get(f"{PODS}/a")
    code, _ = asked(api.path, "GET", f"{PODS}?includeObject=all", accept=TABLE)
    assert code == 400


def test_a_watch_of_tables_names_its_columns_once(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    client.post(PODS, pod("b"))
    query = f"{PODS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=0"
    first, second, mark = lines(api.path, query, 3, accept=TABLE)
    assert [each["type"] for each in (first, second, mark)] == ["ADDED", "ADDED", "BOOKMARK"]
    assert len(first["object"]["columnDefinitions"]) == 9
    assert second["object"]["columnDefinitions"] == []
    assert second["object"]["rows"][0]["cells"][0] == "b"
    assert mark["object"]["rows"] == []


def test_a_watch_says_when_all_there_was_has_been_sent(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    query = f"{PODS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
    added, mark = lines(api.path, query, 2)
    assert (added["type"], mark["type"]) == ("ADDED", "BOOKMARK")
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def _warned(*names: str) -> list[str]:
    response = Response()
    found = [input_error.Ignored(name) for name in names]
    note = input_error.Ignored("x", severity=Severity.NOTE)
    status.warn(response, status.warnings([*found, note]))
    return response.headers.getlist("warning")


def test_warnings_are_headers_that_any_client_can_read() -> None:
    (said,) = _warned('a"b\\c\nd\u00e9')
    assert said.startswith('299 - "a\\"b\\\\c d?')
    assert len(_warned(*["x" * 1100] * 9)) == 3
    assert _warned() == []
