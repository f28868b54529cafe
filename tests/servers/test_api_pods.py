"""Pods over a real socket: created, read, listed, deleted."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.agent.servers.door import RequestRefusal, RequestRefused
from numalet.io.agent_client.client import AgentRefused
from servers.pods import pod
from servers.served import Api

PODS = "/api/v1/namespaces/default/pods"


def refused(act: Any, *arguments: Any) -> AgentRefused:
    with pytest.raises(AgentRefused) as caught:
        act(*arguments)
    return caught.value


def _names(listed: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def test_a_created_pod_is_decided_on_when_the_answer_comes(api: Api) -> None:
    with api.client() as client:
        made = client.post(PODS, pod("a"))
        assert (made["kind"], made["metadata"]["name"]) == ("Pod", "a")
        assert made["metadata"]["namespace"] == "default"
        assert made["spec"]["nodeName"] == "node7"
        assert client.get(f"{PODS}/a")["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_pod_that_the_policy_refuses_is_there_and_failed(api: Api) -> None:
    with api.client() as client:
        made = client.post(PODS, pod("wide", "40Gi"))
        assert made["status"]["phase"] == "Failed"
        assert made["status"]["reason"] == "TopologyAffinityError"
        assert made["status"]["message"].startswith("Pod was rejected: Resources cannot be")
        (event,) = client.get("/api/v1/namespaces/default/events")["items"]
        assert (event["type"], event["reason"]) == ("Warning", "TopologyAffinityError")
        assert event["involvedObject"]["name"] == "wide"


def test_a_list_has_the_version_from_which_a_watch_goes_on(api: Api) -> None:
    with api.client() as client:
        client.post(PODS, pod("a"))
        client.post("/api/v1/namespaces/other/pods", pod("b"))
        listed = client.get("/api/v1/pods")
        assert (listed["kind"], _names(listed)) == ("PodList", ["a", "b"])
        assert int(listed["metadata"]["resourceVersion"]) == api.door.view().resource_version
        assert _names(client.get(PODS)) == ["a"]


def test_selectors_choose(api: Api) -> None:
    with api.client() as client:
        client.post(PODS, pod("a", labels={"app": "web", "tier": "1"}))
        client.post(PODS, pod("b", labels={"app": "db"}))
        client.post(PODS, pod("c", "40Gi"))
        for selector, names in (
            ("app=web", ["a"]),
            ("app==db", ["b"]),
            ("app!=web", ["b", "c"]),
            ("app in (web, db)", ["a", "b"]),
            ("app notin (web,db)", ["c"]),
            ("app", ["a", "b"]),
            ("!app", ["c"]),
            ("app in (web),tier=1", ["a"]),
            ("", ["a", "b", "c"]),
        ):
            assert _names(client.get(PODS, {"labelSelector": selector})) == names, selector
        for selector, names in (
            ("metadata.name=b", ["b"]),
            ("status.phase!=Failed", ["a", "b"]),
            ("spec.nodeName==node7,metadata.name!=a", ["b", "c"]),
        ):
            assert _names(client.get(PODS, {"fieldSelector": selector})) == names, selector


@pytest.mark.parametrize(
    "query",
    [
        {"labelSelector": "a in (b"},
        {"labelSelector": "=x"},
        {"labelSelector": "a" * 5000},
        {"fieldSelector": "spec.secret=1"},
        {"fieldSelector": "metadata.name"},
        {"watch": "perhaps"},
        {"watch": "1", "resourceVersion": "new"},
        {"watch": "1", "timeoutSeconds": "-1"},
    ],
)
def test_a_query_that_means_nothing_is_a_bad_request(api: Api, query: dict[str, str]) -> None:
    with api.client() as client:
        answer = refused(client.get, PODS, query)
        assert (answer.code, answer.reason) == (400, "BadRequest")


def test_a_name_is_taken_once(api: Api) -> None:
    with api.client() as client:
        client.post(PODS, pod("a"))
        answer = refused(client.post, PODS, pod("a"))
        assert (answer.code, answer.reason) == (409, "AlreadyExists")
        assert answer.message == 'pods "a" already exists'


def test_a_generated_name_is_new_each_time(api: Api) -> None:
    anonymous = pod("x", generateName="job-")
    del anonymous["metadata"]["name"]
    with api.client() as client:
        names = {client.post(PODS, anonymous)["metadata"]["name"] for _ in range(3)}
        assert len(names) == 3
        assert all(name.startswith("job-") and len(name) == 9 for name in names)


def test_a_wrong_pod_has_a_cause_for_everything_that_is_wrong(api: Api) -> None:
    wrong = pod("a")
    wrong["spec"]["containers"][0]["resources"]["limits"]["memory"] = "lots"
    wrong["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "some"
    with api.client() as client:
        answer = refused(client.post, PODS, wrong)
        assert (answer.code, answer.reason) == (422, "Invalid")
        assert answer.message.startswith('Pod "a" is invalid: ')
        assert "spec.containers[0].resources.limits.memory" in answer.message
        assert "lots" in answer.message
        assert "spec.containers[0].resources.limits.cpu" in answer.message


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"kind": "Service", "apiVersion": "v1"}, 400),
        ({"kind": "Pod", "apiVersion": "v2"}, 400),
        ([1, 2], 400),
        ("text", 400),
        ({"kind": "Pod", "apiVersion": "v1"}, 422),
        (pod("a", namespace="other"), 400),
        (pod("../../etc/passwd"), 422),
        (pod("x" * 10_000), 422),
        (pod("UPPER"), 422),
        (pod("a", uid="../../x"), 422),
    ],
)
def test_what_is_no_pod_is_refused(api: Api, body: Any, code: int) -> None:
    with api.client() as client:
        assert refused(client.post, PODS, body).code == code
        assert client.get(PODS)["items"] == []


def test_a_deleted_pod_ends_and_goes(api: Api) -> None:
    with api.client() as client:
        client.post(PODS, pod("a"))
        assert client.delete(f"{PODS}/a", {})["metadata"]["name"] == "a"
        deletion = api.do(lambda door: door.named("a").run.deletion)
        assert deletion is not None
        assert deletion.grace_seconds == 30
        client.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
        assert refused(client.get, f"{PODS}/a").message == 'pods "a" not found'


def test_a_deletion_may_name_the_uid_and_the_grace(api: Api) -> None:
    with api.client() as client:
        client.post(PODS, pod("a"))
        wrong = {"preconditions": {"uid": "another"}}
        assert refused(client.delete, f"{PODS}/a", wrong).code == 409
        assert refused(client.delete, f"{PODS}/a", {"gracePeriodSeconds": -1}).code == 400
        assert refused(client.delete, f"{PODS}/b", {}).code == 404
        assert refused(client.delete, f"{PODS}/a", []).code == 400
        client.delete(f"{PODS}/a?gracePeriodSeconds=0", {})
        assert client.get(PODS)["items"] == []


@pytest.mark.parametrize(
    ("why", "code", "reason"),
    [
        (RequestRefused(RequestRefusal.OBSERVING), 403, "Forbidden"),
        (RequestRefused(RequestRefusal.STOPPING), 503, "ServiceUnavailable"),
        (
            RequestRefused(RequestRefusal.STORAGE, {"problem": "No space left on device"}),
            500,
            "InternalError",
        ),
        (RequestRefused(RequestRefusal.CONFLICT, {"uid": "x"}), 409, "Conflict"),
        (RequestRefused(RequestRefusal.NOT_FOUND), 404, "NotFound"),
        (RequestRefused(RequestRefusal.TOO_OLD, {"asked": "1", "oldest": "5"}), 410, "Expired"),
    ],
)
def test_what_the_agent_would_not_do_has_kubernetes_code(
    api: Api, why: RequestRefused, code: int, reason: str
) -> None:
    with api.client() as client:
        client.post(PODS, pod("a"))
        api.do(lambda door: setattr(door, "refusal", why))
        for answer in (
            refused(client.post, PODS, pod("b")),
            refused(client.delete, f"{PODS}/a", {}),
        ):
            assert (answer.code, answer.reason) == (code, reason)
