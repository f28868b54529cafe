"""What a file in the manifest folder becomes."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.workload.static_pods import static_pod, uid_of
from values.pod_runs import START

MANIFEST: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "web", "annotations": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "command": ["true"]}], "tolerations": [{"key": "k"}]},
}


def adapted(manifest: dict[str, Any], node_name: str = "Node-1", path: str = "/p") -> Any:
    """The static pod of a manifest."""
    return static_pod(manifest, node_name=node_name, path=path, seen_at=START)


def test_name_node_and_annotations_say_where_it_comes_from() -> None:
    before = repr(MANIFEST)
    pod = adapted(MANIFEST)
    uid = pod["metadata"]["uid"]
    assert len(uid) == 32
    assert int(uid, 16)
    assert pod["metadata"] == {
        "name": "web-node-1",
        "namespace": "default",
        "uid": uid,
        "annotations": {
            "a": "b",
            "kubernetes.io/config.hash": uid,
            "kubernetes.io/config.seen": "2030-01-01T00:00:00Z",
            "kubernetes.io/config.source": "file",
        },
    }
    assert pod["spec"]["nodeName"] == "Node-1"
    assert pod["spec"]["tolerations"] == [
        {"key": "k"},
        {"operator": "Exists", "effect": "NoExecute"},
    ]
    assert pod["spec"]["containers"] is MANIFEST["spec"]["containers"]
    assert repr(MANIFEST) == before


def test_what_the_file_says_of_uid_and_namespace_is_kept() -> None:
    pod = adapted({"metadata": {"name": "web", "namespace": "ops", "uid": "mine"}})
    metadata = pod["metadata"]
    assert (metadata["uid"], metadata["namespace"]) == ("mine", "ops")
    assert metadata["annotations"]["kubernetes.io/config.hash"] == "mine"


def test_the_same_content_at_the_same_place_is_the_same_pod() -> None:
    turned = {name: MANIFEST[name] for name in reversed(MANIFEST)}
    assert uid_of(MANIFEST, "n", "/p") == uid_of(turned, "n", "/p")


@pytest.mark.parametrize(
    ("manifest", "node_name", "path"),
    [
        ({**MANIFEST, "metadata": {"name": "web2"}}, "n", "/p"),
        (MANIFEST, "m", "/p"),
        (MANIFEST, "n", "/q"),
    ],
)
def test_other_content_or_another_place_is_another_pod(
    manifest: dict[str, Any], node_name: str, path: str
) -> None:
    assert uid_of(MANIFEST, "n", "/p") != uid_of(manifest, node_name, path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", 1),
        (1, 1.0),
        (1, True),
        (None, "None"),
        (["1"], "1"),
        ({"a": 1}, [["a", 1]]),
        ({1: "a"}, {"1": "a"}),
        ({}, []),
        ("1.5", 1.5),
    ],
)
def test_values_of_different_kinds_are_told_apart(one: object, other: object) -> None:
    assert uid_of({"x": one}, "n", "/p") != uid_of({"x": other}, "n", "/p")


def test_what_is_missing_or_wrong_is_left_to_the_reader() -> None:
    assert "name" not in adapted({})["metadata"]
    assert adapted({"metadata": {"name": 5}})["metadata"]["name"] == 5
    assert adapted({"metadata": [1]})["metadata"] == [1]
    assert adapted({"spec": "x"})["spec"] == "x"
    assert adapted({"metadata": {"annotations": 3}})["metadata"]["annotations"] == 3
    assert len(adapted({"spec": {"tolerations": "x"}})["spec"]["tolerations"]) == 1
