"""Fields of posted and patched pods: types, unknown ones, ones that come twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from numalet.io.agent_client.client import AgentClient
from oracles import kubernetes_types
from servers.asking import answered
from servers.pods import pod
from servers.served import Api

PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"


def _with(value: dict[str, Any], path: str, member: Any) -> dict[str, Any]:
    *names, last = path.split(".")
    part: Any = value
    for name in names:
        part = part[int(name)] if isinstance(part, list) else part.setdefault(name, {})
    part[last] = member
    return value


@pytest.mark.parametrize(
    ("path", "member", "field"),
    [
        ("spec.containers.0.image", 3.9, "spec.containers[0].image"),
        ("spec.tolerations", "x", "spec.tolerations"),
        ("spec.tolerations", [{"tolerationSeconds": "5"}], "spec.tolerations[0].tolerationSeconds"),
        ("spec.tolerations", [{"effect": "Never"}], "spec.tolerations[0].effect"),
        ("spec.volumes", [{"emptyDir": {}}], "spec.volumes[0]"),
        ("metadata.creationTimestamp", "9999-99-99", "metadata.creationTimestamp"),
        ("metadata.labels", {"a": None}, "metadata.labels.a"),
        ("status", {"startTime": "noon"}, "status.startTime"),
    ],
)
def test_what_is_of_another_type_or_format_is_refused_with_its_place(
    api: Api, client: AgentClient, path: str, member: Any, field: str
) -> None:
    code, status, _ = answered(api.path, "POST", PODS, _with(pod("a"), path, member))
    assert (code, status["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in status["details"]["causes"]] == [field]
    assert client.get(PODS)["items"] == []


def test_half_of_a_character_is_refused(api: Api) -> None:
    text = json.dumps(_with(pod("a"), "metadata.annotations", {"a": "\ud800"}))
    code, status, _ = answered(api.path, "POST", PODS, text)
    assert (code, "surrogate" in status["message"]) == (400, True)


MISSPELT = _with(_with(pod("a"), "metadata.lables", {"a": "b"}), "spec.containers.0.resorces", {})
UNKNOWN = ('unknown field "metadata.lables"', 'unknown field "spec.containers[0].resorces"')


def test_a_strict_client_gets_the_text_of_a_kube_apiserver(api: Api, client: AgentClient) -> None:
    code, status, _ = answered(api.path, "POST", f"{PODS}?fieldValidation=Strict", MISSPELT)
    assert (code, status["reason"]) == (400, "BadRequest")
    assert status["message"] == (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
        + ", ".join(UNKNOWN)
    )
    near = [cause["message"] for cause in status["details"]["causes"]]
    assert ["known: labels" in near[0], "resources" in near[1]] == [True, True]
    assert client.get(PODS)["items"] == []


@pytest.mark.parametrize("query", ["", "?fieldValidation=Warn", "?fieldValidation="])
def test_others_are_warned_and_the_fields_are_not_kept(api: Api, query: str) -> None:
    code, made, warnings = answered(api.path, "POST", f"{PODS}{query}", MISSPELT)
    assert (code, warnings) == (201, list(UNKNOWN))
    assert "lables" not in made["metadata"]
    assert "resorces" not in made["spec"]["containers"][0]
    kubernetes_types.read(made)


def test_or_nothing_is_said(api: Api) -> None:
    code, made, warnings = answered(api.path, "POST", f"{PODS}?fieldValidation=Ignore", MISSPELT)
    assert (code, warnings, "lables" in made["metadata"]) == (201, [], False)


def test_there_is_no_other_way(api: Api) -> None:
    code, status, _ = answered(api.path, "POST", f"{PODS}?fieldValidation=Hard", pod("a"))
    assert code == 422
    assert status["details"]["causes"][0]["field"] == "fieldValidation"
    assert 'supported values: "Ignore", "Strict", "Warn"' in status["message"]


@pytest.mark.parametrize(("query", "code"), [("Strict", 400), ("Warn", 201), ("Ignore", 201)])
def test_a_field_that_comes_twice_is_like_one_that_is_unknown(
    api: Api, query: str, code: int
) -> None:
    text = json.dumps(pod("a"))[:-1] + ', "kind": "Pod"}'
    found, answer, warnings = answered(api.path, "POST", f"{PODS}?fieldValidation={query}", text)
    assert found == code
    assert warnings == (['duplicate field "kind"'] if query == "Warn" else [])
    assert ('duplicate field "kind"' in answer.get("message", "")) == (query == "Strict")


def test_a_patch_is_read_so_too(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    patch, path = {"metadata": {"lables": {"a": "b"}}}, f"{PODS}/a"
    code, status, _ = answered(api.path, "PATCH", f"{path}?fieldValidation=Strict", patch, MERGE)
    assert (code, status["details"]["causes"][0]["field"]) == (422, "metadata.lables")
    assert 'patch: strict decoding error: unknown field "metadata.lables"' in status["message"]
    code, found, warnings = answered(api.path, "PATCH", path, patch, MERGE)
    assert (code, warnings) == (200, ['unknown field "metadata.lables"'])
    assert found == client.get(path)


def test_quantities_are_kept_as_a_kube_apiserver_keeps_them(api: Api) -> None:
    volumes = [{"name": "v", "emptyDir": {"sizeLimit": 1024}}]
    spec = {"overhead": {"cpu": 1}, "volumes": volumes}
    value = pod("a")
    value["spec"] |= spec
    code, made, _ = answered(api.path, "POST", PODS, value)
    assert (code, made["spec"]["overhead"]) == (201, {"cpu": "1"})
    assert made["spec"]["volumes"][0]["emptyDir"] == {"sizeLimit": "1024"}
    kubernetes_types.read(made)


def test_the_document_says_that_the_server_checks_fields(api: Api, client: AgentClient) -> None:
    document = client.get("/openapi/v3/api/v1")
    operations = document["paths"][f"{PODS}/{{name}}".replace("default", "{namespace}")]
    names = {each["name"] for each in operations["patch"]["parameters"]}
    assert {"fieldValidation", "dryRun"} <= names
    schema = document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert schema["nodeSelector"]["description"].startswith("A pod that selects labels")
    name = document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
    assert name["properties"]["name"]["maxLength"] == 253
