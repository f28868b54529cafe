"""Bodies as typed clients of Go send them since v1.32: protocol buffers, made here byte by byte."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from harness.bad_inputs import refused_with
from numalet.core.model.findings import BadInput
from numalet.io.agent_client.client import AgentClient
from numalet.io.documents import kube_protobuf
from servers.asking import asked
from servers.pods import pod
from servers.served import Api

PODS = "/api/v1/namespaces/default/pods"
PROTOBUF = "application/vnd.kubernetes.protobuf"
GO = {"content_type": PROTOBUF, "accept": f"{PROTOBUF},application/json"}


def varint(value: int) -> bytes:
    text = b""
    while value > 0x7F:
        text += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return text + bytes((value,))


def field(number: int, content: bytes | str | int | bool) -> bytes:
    """A field as Go writes it: numbers and truths as they are, all else with its length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content & (1 << 64) - 1)
    text = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(text)) + text


def entry(key: str, value: bytes | str) -> bytes:
    return field(1, key) + field(2, value)


def envelope(kind: str, raw: bytes, version: str = "v1") -> bytes:
    """``runtime.Unknown``; the two texts at its end are empty, and written."""
    meta = field(1, version) + field(2, kind)
    return b"k8s\0" + field(1, meta) + field(2, raw) + field(3, "") + field(4, "")


def metadata(name: str, labels: bytes = b"") -> bytes:
    """All that Go writes of an ObjectMeta whose name alone is set."""
    texts = b"".join(field(number, "") for number in (2, 3, 4, 5, 6))
    return field(1, name) + texts + field(7, 0) + field(8, b"") + labels


def amounts() -> bytes:
    return b"".join(
        field(number, entry(name, field(1, size)))
        for number in (1, 2)
        for name, size in (("cpu", "2"), ("memory", "4Gi"))
    )


def container() -> bytes:
    env = field(1, "LEVEL") + field(2, "")
    handler = field(
        1, field(2, field(1, "/") + field(2, field(1, 0) + field(2, 80) + field(3, "")))
    )
    return b"".join(
        (
            field(1, "c"),
            field(2, ""),
            field(3, "sleep"),
            field(3, "1000"),
            field(5, ""),
            field(
                6, field(1, "web") + field(2, 0) + field(3, 8080) + field(4, "TCP") + field(5, "")
            ),
            field(7, env),
            field(8, amounts()),
            field(
                10, handler + field(2, 5) + field(3, 0) + field(4, 0) + field(5, 0) + field(6, 0)
            ),
            field(13, ""),
            field(14, ""),
            field(16, False),
            field(17, False),
            field(18, False),
            field(20, ""),
        )
    )


def spec(more: bytes = b"") -> bytes:
    toleration = b"".join(field(number, text) for number, text in enumerate(("a", "", "b", ""), 1))
    return b"".join(
        (
            field(2, container()),
            field(3, "Never"),
            field(4, 0),
            field(6, ""),
            field(7, entry("kubernetes.io/os", "linux")),
            field(8, ""),
            field(9, ""),
            field(10, ""),
            field(11, False),
            field(12, False),
            field(13, False),
            field(16, ""),
            field(17, ""),
            field(19, ""),
            field(22, toleration + field(5, -1)),
            field(24, ""),
            more,
        )
    )


def go_pod(name: str, more: bytes = b"") -> bytes:
    labels = field(11, entry("app", name))
    return envelope("Pod", field(1, metadata(name, labels)) + field(2, spec(more)) + field(3, b""))


EXPECTED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "command": ["sleep", "1000"],
                "ports": [{"name": "web", "containerPort": 8080, "protocol": "TCP"}],
                "env": [{"name": "LEVEL"}],
                "resources": {
                    "limits": {"cpu": "2", "memory": "4Gi"},
                    "requests": {"cpu": "2", "memory": "4Gi"},
                },
                "livenessProbe": {
                    "httpGet": {"path": "/", "port": 80},
                    "initialDelaySeconds": 5,
                },
            }
        ],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "a", "value": "b", "tolerationSeconds": -1}],
    },
}


def _sent(api: Api, method: str, path: str, body: bytes) -> tuple[int, Any]:
    return asked(api.path, method, path, body, **GO)


def test_a_pod_of_go_is_what_it_is_as_json(api: Api) -> None:
    assert kube_protobuf.decoded(go_pod("a"), "body") == EXPECTED
    code, answer = _sent(api, "POST", PODS, go_pod("a"))
    assert (code, answer["status"]["phase"]) == (201, "Running")
    assert answer["metadata"]["labels"] == {"app": "a"}


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1"])
def test_go_drains_and_deletes(api: Api, client: AgentClient, version: str) -> None:
    client.post(PODS, pod("evicted"))
    client.post(PODS, pod("deleted"))
    options = field(1, 0) + field(4, "Background")
    eviction = envelope("Eviction", field(1, metadata("evicted")) + field(2, options), version)
    code, status = _sent(api, "POST", f"{PODS}/evicted/eviction", eviction)
    assert (code, status["status"]) == (201, "Success")
    uid = client.get(f"{PODS}/deleted")["metadata"]["uid"]
    other = field(1, 0) + field(2, field(1, "another"))
    code, status = _sent(api, "DELETE", f"{PODS}/deleted", envelope("DeleteOptions", other))
    assert (code, status["reason"]) == (409, "Conflict")
    same = field(1, 0) + field(2, field(1, uid)) + field(5, "All")
    code, _ = _sent(api, "DELETE", f"{PODS}/deleted", envelope("DeleteOptions", same))
    assert (code, len(client.get(PODS)["items"])) == (200, 1)
    same = field(1, 0) + field(2, field(1, uid))
    code, _ = _sent(api, "DELETE", f"{PODS}/deleted", envelope("DeleteOptions", same))
    assert (code, client.get(PODS)["items"]) == (200, [])


def test_an_eviction_is_checked(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    for value, code in (
        ({"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "b"}}, 400),
        ({"kind": "Eviction", "apiVersion": "apps/v1"}, 400),
        ({"kind": "Eviction", "apiVersion": "policy/v1", "deleteOptions": 5}, 400),
        ({"kind": "Pod", "apiVersion": "v1"}, 400),
    ):
        assert asked(api.path, "POST", f"{PODS}/a/eviction", value)[0] == code
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "a"}}
    assert asked(api.path, "POST", f"{PODS}/absent/eviction", eviction)[0] in (400, 404)
    dry = {**eviction, "deleteOptions": {"dryRun": ["All"]}}
    assert asked(api.path, "POST", f"{PODS}/a/eviction", dry)[0] == 201
    assert "deletionTimestamp" not in client.get(f"{PODS}/a")["metadata"]
    found = {each["name"]: each for each in client.get("/api/v1")["resources"]}
    shown = found["pods/eviction"]
    assert (shown["group"], shown["version"], shown["kind"]) == ("policy", "v1", "Eviction")


def test_what_is_not_known_is_refused_unless_it_is_empty() -> None:
    kube_protobuf.decoded(go_pod("a", field(900, "")), "body")
    kube_protobuf.decoded(go_pod("a", field(900, 0)), "body")
    with refused_with("protobuf/unreadable"):
        kube_protobuf.decoded(go_pod("a", field(900, "x")), "body")
    with refused_with("protobuf/unreadable"):
        kube_protobuf.decoded(envelope("Node", b""), "body")


def test_bytes_that_are_damaged_are_bad_input_or_another_pod() -> None:
    chance, whole = random.Random(7), go_pod("a")
    for cut in range(len(whole)):
        _read(whole[:cut])
    for _ in range(2000):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(4, len(damaged))] = chance.randrange(256)
        _read(bytes(damaged))


def _read(content: bytes) -> None:
    try:
        found = kube_protobuf.decoded(content, "body")
    except BadInput:
        return
    assert isinstance(found, dict)
    json.dumps(found)


def test_a_damaged_body_is_a_bad_request(api: Api, root: Path) -> None:
    for body in (b"k8s\0\x0a", b"k8s\0" + b"\xff" * 40, go_pod("a")[:-30]):
        code, status = _sent(api, "POST", PODS, body)
        assert (code, status["kind"]) == (400, "Status")
