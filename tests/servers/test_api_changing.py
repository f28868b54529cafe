"""Changes of pods: patches and dry runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.agent.servers.door import RequestRefusal, RequestRefused
from numalet.core.workload.spec import WorkloadSource
from numalet.io.agent_client.client import AgentClient
from servers.asking import asked, lines
from servers.pods import pod
from servers.served import Api

PODS = "/api/v1/namespaces/default/pods"
JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def _patched(api: Api, patch: object, kind: str = MERGE) -> tuple[int, Any]:
    return asked(api.path, "PATCH", f"{PODS}/a", patch, content_type=kind)


@pytest.mark.parametrize(
    "patch",
    [
        {},
        {"metadata": {"annotations": None}},
        {"metadata": {"labels": {"gone": None}, "resourceVersion": ""}},
        {"spec": {"restartPolicy": "Always"}},
    ],
)
def test_a_patch_that_changes_nothing_is_fine(
    api: Api, client: AgentClient, patch: dict[str, Any]
) -> None:
    client.post(PODS, pod("a"))
    assert _patched(api, patch) == (200, client.get(f"{PODS}/a"))


def test_an_amount_that_is_only_written_otherwise_is_no_change(
    api: Api, client: AgentClient
) -> None:
    client.post(PODS, pod("a"))
    (container,) = client.get(f"{PODS}/a")["spec"]["containers"]
    container["resources"]["limits"]["memory"] = "4096Mi"
    assert _patched(api, {"spec": {"containers": [container]}})[0] == 200


LABELS = {"app": "web"}
RELABELS = [
    (MERGE, {"metadata": {"labels": LABELS}}),
    (JSON_PATCH, [{"op": "add", "path": "/metadata/labels", "value": LABELS}]),
]


@pytest.mark.parametrize(("kind", "patch"), RELABELS)
def test_labels_may_change_and_shims_are_notified(
    api: Api, client: AgentClient, kind: str, patch: object
) -> None:
    before = client.post(PODS, pod("a"))["metadata"]["resourceVersion"]
    code, found = _patched(api, patch, kind)
    assert (code, found["metadata"]["labels"]) == (200, LABELS)
    assert found == client.get(f"{PODS}/a")
    assert found["metadata"]["resourceVersion"] != before
    (change,) = lines(api.path, f"{PODS}?watch=1&resourceVersion={before}", 1)
    assert (change["type"], change["object"]) == ("MODIFIED", found)
    selected = client.get(PODS, {"labelSelector": "app=web"})["items"]
    assert [each["metadata"]["name"] for each in selected] == ["a"]


def test_images_and_more_tolerations_are_fine(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    (container,) = client.get(f"{PODS}/a")["spec"]["containers"]
    patch = {
        "spec": {
            "containers": [{**container, "image": "web:2"}],
            "tolerations": [{"key": "b", "operator": "Exists"}],
        }
    }
    spec = _patched(api, patch)[1]["spec"]
    assert spec["containers"][0]["image"] == "web:2"
    assert spec["tolerations"] == [{"key": "b", "operator": "Exists"}]
    code, status = _patched(api, {"spec": {"tolerations": []}})
    assert (code, status["details"]["causes"][0]["field"]) == (422, "spec.tolerations")


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"spec": {"containers": [{"name": "c", "command": ["other"]}]}}, "spec"),
        ({"spec": {"containers": [{"name": "d", "command": ["more"]}]}}, "spec"),
        ({"spec": {"nodeName": "elsewhere"}}, "spec"),
    ],
)
def test_what_was_decided_on_can_not_be_changed(
    api: Api, client: AgentClient, patch: dict[str, Any], field: str
) -> None:
    client.post(PODS, pod("a"))
    before = client.get(f"{PODS}/a")
    code, status = _patched(api, patch)
    assert (code, status["reason"]) == (422, "Invalid")
    (cause,) = status["details"]["causes"]
    assert (cause["field"], cause["reason"]) == (field, "FieldValueForbidden")
    assert status["message"] == f'Pod "a" is invalid: {field}: {cause["message"]}'
    assert ("pod updates may not change fields other than" in cause["message"]) == (field == "spec")
    assert client.get(f"{PODS}/a") == before


def test_a_pod_of_the_manifest_folder_is_what_its_file_says(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    record = api.do(lambda door: door.named("a"))
    of_file = replace(record, workload=replace(record.workload, source=WorkloadSource.FILE))
    api.do(lambda door: door.put(of_file))
    code, status = _patched(api, {"metadata": {"labels": LABELS}})
    assert (code, "file" in status["message"]) == (422, True)
    assert _patched(api, {})[0] == 200


def test_another_change_meanwhile_is_no_reason_to_give_up(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    for _ in range(3):
        api.do(lambda door: door.meanwhile.append(lambda: door.update("a", lambda run: run)))
    code, found = _patched(api, {"metadata": {"labels": LABELS}})
    assert (code, found["metadata"]["labels"]) == (200, LABELS)
    for _ in range(9):
        api.do(lambda door: door.meanwhile.append(lambda: door.update("a", lambda run: run)))
    code, status = _patched(api, {"metadata": {"labels": {"app": "db"}}})
    assert (code, status["reason"]) == (409, "Conflict")


def test_what_the_agent_refuses_is_reported(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    api.do(lambda door: setattr(door, "refusal", RequestRefused(RequestRefusal.STOPPING)))
    assert _patched(api, {"metadata": {"labels": LABELS}})[0] == 503
    dry = asked(api.path, "POST", f"{PODS}?dryRun=All", pod("b"), content_type=JSON)
    assert dry[0] == 503


@pytest.mark.parametrize(
    ("patch", "kind", "code"),
    [
        ({"metadata": {"resourceVersion": "999"}}, MERGE, 409),
        ({"spec": {"containers": []}}, MERGE, 422),
        ({"spec": None}, MERGE, 422),
        ([], MERGE, 400),
        ({"metadata": "x"}, MERGE, 422),
        ({"metadata": {"name": "b"}}, MERGE, 400),
        ({"metadata": {"namespace": "other"}}, MERGE, 400),
        ({"metadata": {"uid": "other"}}, MERGE, 409),
        ({"spec": {"tolerations": 5}}, MERGE, 422),
        ([{"op": "remove", "path": "/spec"}], JSON_PATCH, 422),
        ([{"op": "replace", "path": "", "value": 5}], JSON_PATCH, 422),
        ([{"op": "test", "path": "/metadata/name", "value": "b"}], JSON_PATCH, 422),
        ([{"op": "remove", "path": "/metadata/labels/app"}], JSON_PATCH, 422),
        ([{"op": "explode", "path": "/spec"}], JSON_PATCH, 400),
        ([{"op": "copy", "path": "/spec/x"}], JSON_PATCH, 400),
        ([5], JSON_PATCH, 400),
        ({}, JSON_PATCH, 400),
        ({}, APPLY, 415),
        ({}, STRATEGIC, 415),
    ],
)
def test_a_patch_that_makes_no_sense_is_refused(
    api: Api, client: AgentClient, patch: object, kind: str, code: int
) -> None:
    client.post(PODS, pod("a"))
    assert _patched(api, patch, kind)[0] == code


def test_a_patch_of_what_is_not_there_is_absent(api: Api) -> None:
    assert _patched(api, {}, MERGE)[0] == 404
    # Also where there is no pod, so that kubectl says what is not served here.
    assert _patched(api, {}, APPLY)[0] == 415


def test_a_dry_run_of_a_create_says_where_the_pod_would_be(api: Api, client: AgentClient) -> None:
    code, found = asked(api.path, "POST", f"{PODS}?dryRun=All", pod("a"), content_type=JSON)
    assert code == 201
    assert "resourceVersion" not in found["metadata"]
    assert "memory of NUMA node 0; CPUs" in found["status"]["message"]
    _, refused = asked(api.path, "POST", f"{PODS}?dryRun=All", pod("b", "40Gi"), content_type=JSON)
    assert (refused["status"]["phase"], refused["status"]["reason"]) == (
        "Failed",
        "TopologyAffinityError",
    )
    assert client.get(PODS)["items"] == []
    _, shared = asked(
        api.path, "POST", f"{PODS}?dryRun=All", pod("c", cpu="100m"), content_type=JSON
    )
    assert "CPUs" not in shared["status"]["message"]


def test_a_dry_run_of_a_change_or_a_delete_changes_nothing(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    before = client.get(f"{PODS}/a")
    patch, path = {"metadata": {"labels": LABELS}}, f"{PODS}/a?dryRun=All"
    code, found = asked(api.path, "PATCH", path, patch, content_type=MERGE)
    assert (code, found["metadata"]["labels"]) == (200, LABELS)
    options = {"dryRun": ["All"], "gracePeriodSeconds": 0}
    for given in ((f"{PODS}/a", options), (path, None)):
        code, found = asked(api.path, "DELETE", *given, content_type=JSON)
        assert (code, "deletionTimestamp" in found["metadata"]) == (200, True)
        assert "message" not in found["status"]
    assert client.get(f"{PODS}/a") == before


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_dry_run_of_another_kind_is_refused(api: Api, client: AgentClient, method: str) -> None:
    client.post(PODS, pod("a"))
    path = PODS if method == "POST" else f"{PODS}/a"
    kind = MERGE if method == "PATCH" else JSON
    body = None if method == "DELETE" else pod("a")
    code, status = asked(api.path, method, f"{path}?dryRun=Some", body, content_type=kind)
    assert (code, status["details"]["causes"][0]["field"]) == (422, "dryRun")


@pytest.mark.parametrize(("what", "code"), [("uid", 409), ("resourceVersion", 409)])
def test_a_delete_of_another_pod_than_is_meant_is_a_conflict(
    api: Api, client: AgentClient, what: str, code: int
) -> None:
    metadata = client.post(PODS, pod("a"))["metadata"]
    for value, expected in (("other", code), (metadata[what], 200)):
        options = {"preconditions": {what: value}}
        assert asked(api.path, "DELETE", f"{PODS}/a", options, content_type=JSON)[0] == expected
