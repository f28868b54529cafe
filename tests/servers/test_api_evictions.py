"""Evictions, as ``kubectl drain`` sends them."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.io.agent_client.client import AgentClient
from servers.asking import asked
from servers.pods import pod
from servers.served import Api

PODS = "/api/v1/namespaces/default/pods"
EVICTION = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "a"}}


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1"])
def test_an_evicted_pod_is_deleted(api: Api, client: AgentClient, version: str) -> None:
    client.post(PODS, pod("a"))
    options = {"gracePeriodSeconds": 0}
    eviction = {**EVICTION, "apiVersion": version, "deleteOptions": options}
    code, status = asked(api.path, "POST", f"{PODS}/a/eviction", eviction)
    assert (code, status["status"]) == (201, "Success")
    assert client.get(PODS)["items"] == []


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "b"}},
        {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"namespace": "other"}},
        {"kind": "Eviction", "apiVersion": "apps/v1"},
        {"kind": "Eviction", "apiVersion": "policy/v1", "deleteOptions": 5},
        {"kind": "Pod", "apiVersion": "v1"},
    ],
)
def test_an_eviction_is_checked(api: Api, client: AgentClient, value: dict[str, Any]) -> None:
    client.post(PODS, pod("a"))
    assert asked(api.path, "POST", f"{PODS}/a/eviction", value)[0] == 400


def test_an_eviction_of_no_pod_and_one_that_is_only_tried(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    eviction = {**EVICTION, "metadata": {"name": "absent"}}
    assert asked(api.path, "POST", f"{PODS}/absent/eviction", eviction)[0] == 404
    dry = {**EVICTION, "deleteOptions": {"dryRun": ["All"]}}
    assert asked(api.path, "POST", f"{PODS}/a/eviction", dry)[0] == 201
    assert "deletionTimestamp" not in client.get(f"{PODS}/a")["metadata"]
    found = {each["name"]: each for each in client.get("/api/v1")["resources"]}
    shown = found["pods/eviction"]
    assert (shown["group"], shown["version"], shown["kind"]) == ("policy", "v1", "Eviction")
