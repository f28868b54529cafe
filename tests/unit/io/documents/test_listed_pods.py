"""Names of pods: from manifests, from lists, from dumps of the pod resources API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from numalet.core.model.findings import BadInput
from numalet.core.model.listed_pod import Holdings, ListedPod
from numalet.io.documents.pods import listed_pods


def file_of(folder: Path, name: str, value: Any) -> Path:
    """A file with this document."""
    path = folder / name
    path.write_text(json.dumps(value))
    return path


def pod(uid: str, name: str, namespace: str | None = None) -> Any:
    """A manifest."""
    metadata = {"uid": uid, "name": name} | ({"namespace": namespace} if namespace else {})
    return {"kind": "Pod", "metadata": metadata}


def test_manifests_and_lists_give_names_by_uid(tmp_path: Path) -> None:
    file_of(tmp_path, "one.yaml", pod("u1", "one"))
    file_of(tmp_path, "two.json", {"kind": "List", "items": [pod("u2", "two", "a"), "x"]})
    file_of(tmp_path, "notes.txt", pod("u3", "three"))
    file_of(tmp_path, "service.yml", {"kind": "Service", "metadata": {"uid": "u4", "name": "s"}})
    file_of(tmp_path, "odd.json", [{"kind": "Pod", "metadata": {"uid": 1, "name": "n"}}, 3])
    file_of(tmp_path, "nameless.json", {"kind": "Pod", "metadata": {"uid": 1, "name": "n"}})
    (tmp_path / "folder.json").mkdir()

    names = listed_pods.load([tmp_path, tmp_path / "one.yaml"])

    assert (dict(names.by_uid), names.listed) == ({"u1": "default/one", "u2": "a/two"}, ())


def test_a_dump_tells_what_pods_hold(tmp_path: Path) -> None:
    container = {
        "name": "c",
        "cpuIds": ["1", "5"],
        "devices": [
            {"resourceName": "example.com/gpu", "deviceIds": ["gpu0"], "topology": {"nodes": []}}
        ],
        "memory": [
            {"memoryType": "memory", "size": "1024", "topology": {"nodes": [{}, {"ID": "1"}]}},
            {"memoryType": "hugepages-2Mi", "size": "0"},
        ],
    }
    dump = {"podResources": [{"name": "n", "namespace": "a", "containers": [container]}]}
    held = Holdings(
        frozenset({1, 5}),
        frozenset({("memory", 1024, (0, 1)), ("hugepages-2Mi", 0, ())}),
        frozenset({("example.com/gpu", frozenset({"gpu0"}))}),
    )

    names = listed_pods.load([file_of(tmp_path, "dump.json", dump)])

    assert (ListedPod("a/n", {"c": held}),) == names.listed
    assert not held.is_nothing


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"podResources": 1}, "document/type"),
        ({"podResources": [{"containers": [{"cpuIds": ["x"]}]}]}, "input/invalid"),
    ],
)
def test_bad_dumps_are_named(tmp_path: Path, value: Any, code: str) -> None:
    path = file_of(tmp_path, "dump.json", value)
    with pytest.raises(BadInput) as bad:
        listed_pods.load([path, tmp_path / "missing.json"])

    assert [code, "document/unreadable"] == [finding.code for finding in bad.value.findings]
    assert all(str(finding) for finding in bad.value.findings)


def test_no_paths_give_no_names() -> None:
    assert (dict(listed_pods.load([]).by_uid), listed_pods.load([]).listed) == ({}, ())
