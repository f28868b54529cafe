"""Every kubectl builds the kustomizations, and the API server takes what they make."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import manifests
from running.control_plane import ControlPlane, lost

KUBECTLS = [
    path
    for path in os.environ.get("NUMALET_KUBECTL", shutil.which("kubectl") or "").split(":")
    if path
]
FOLDERS = sorted(path.parent for path in manifests.FOLDER.rglob("kustomization.yaml"))
POLICIES = manifests.FOLDER / "own-objects"


def built(kubectl: str, folder: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [kubectl, "kustomize", str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_kubectl_builds_the_same_objects(folder: Path) -> None:
    if not KUBECTLS:
        pytest.skip("there is no kubectl")
    results = [built(each, folder) for each in KUBECTLS]
    names = [sorted((each["kind"], each["metadata"]["name"]) for each in one) for one in results]
    assert names[0]
    assert all(each == names[0] for each in names)


def test_every_manifest_is_part_of_a_kustomization() -> None:
    listed = {
        (path.parent / each).resolve()
        for path in manifests.FOLDER.rglob("kustomization.yaml")
        for each in named_by(yaml.safe_load(path.read_text()))
    }
    there = {
        path
        for path in manifests.FOLDER.rglob("*.yaml")
        if path.name != "kustomization.yaml" and manifests.in_the_project(path)
    }
    assert {path for path in there if path not in listed} == set()


def named_by(kustomization: dict[str, Any]) -> Iterator[str]:
    yield from kustomization["resources"]
    for each in kustomization.get("configMapGenerator", []):
        yield from each["files"]


@pytest.mark.parametrize(
    ("name", "added", "written"),
    [
        ("numalet-publisher", {}, []),
        ("numalet-nri", {"add": ["IPC_LOCK", "SYS_NICE"]}, ["runtime", "state"]),
    ],
)
def test_the_agent_on_every_node_has_no_privilege(
    name: str, added: dict[str, list[str]], written: list[str]
) -> None:
    daemons = manifests.of_kind("DaemonSet")[name]
    pod = daemons["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {"hostPID", "hostNetwork", "hostIPC"} & pod.keys() == set()
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], **added}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert [each["name"] for each in container["volumeMounts"] if "readOnly" not in each] == written


def test_the_publisher_sees_no_secret_of_a_pod() -> None:
    pod = manifests.of_kind("DaemonSet")["numalet-publisher"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    # Over the folder in which the secrets of pods are mounted lies an empty one.
    empty = {each["name"] for each in pod["volumes"] if "emptyDir" in each}
    (over,) = (each for each in container["volumeMounts"] if each["name"] in empty)
    assert over["mountPath"] == "/var/lib/kubelet/pods"


def test_what_is_applied_is_kept_whole(defined: ControlPlane) -> None:
    for folder in (*manifests.DEFINITIONS, *manifests.ACCOUNTS):
        answer = json.loads(defined.kubectl("get", "-k", str(folder), "-o", "json"))
        # Of a single object there is no list.
        read = {named(each): each for each in answer.get("items", [answer])}
        sent = {named(each): each for each in built(defined.programs.kubectl, folder)}
        assert read.keys() == sent.keys()
        assert [line for name in sent for line in lost(sent[name], read[name], str(name))] == []


def named(document: dict[str, Any]) -> tuple[str, str]:
    return document["kind"], document["metadata"]["name"]


def test_applying_again_changes_nothing(defined: ControlPlane) -> None:
    said = defined.apply(*manifests.DEFINITIONS, *manifests.ACCOUNTS)
    assert [line for line in said.splitlines() if not line.endswith("unchanged")] == []


@pytest.mark.parametrize("name", ["numalet-own-objects", "numalet-own-pods", "numalet-hold"])
def test_the_policy_compiles(defined: ControlPlane, name: str) -> None:
    plane = defined
    plane.apply(POLICIES, manifests.FOLDER / "kai" / "policy.yaml")
    plane.controllers.start()
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{name}"
    while (status := plane.get(path).get("status", {})).get("observedGeneration") is None:
        pass
    assert status["typeChecking"] == {}
