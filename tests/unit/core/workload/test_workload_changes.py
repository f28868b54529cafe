"""What of an accepted pod may become otherwise, and what it is then."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from numalet.core.workload import changes
from numalet.core.workload.spec import Workload, WorkloadSource
from running import agents

TOLERATION = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}

Edit = Callable[[dict[str, Any]], object]


def _given() -> dict[str, Any]:
    given = agents.manifest("one", tolerations=[TOLERATION])
    given["metadata"] |= {"labels": {"app": "web"}, "annotations": {}}
    given["spec"]["initContainers"] = [{"name": "first", "command": ["prepare"]}]
    given["spec"]["containers"][0]["image"] = "web:1"
    return given


OLD = agents.workload(_given(), "uid")


def _edited(edit: Edit) -> Workload:
    given = copy.deepcopy(_given())
    edit(given)
    return agents.workload(given, "uid")


def _main(given: dict[str, Any]) -> Any:
    return given["spec"]["containers"][0]


@pytest.mark.parametrize(
    "edit",
    [
        lambda given: given["metadata"].update(labels={"app": "db"}),
        lambda given: given["metadata"].update(annotations={"a": "b"}, finalizers=["x"]),
        lambda given: _main(given).update(image="web:2"),
        lambda given: given["spec"]["initContainers"][0].update(image="first:1"),
        lambda given: given["spec"]["tolerations"].append({"key": "b"}),
        lambda given: given["spec"]["tolerations"][0].update(tolerationSeconds=20),
    ],
)
def test_what_means_nothing_to_a_running_program_may_change(edit: Edit) -> None:
    new = _edited(edit)
    assert changes.is_changed(OLD, new)
    assert changes.unchangeable(OLD, new) == ()
    after = changes.changed(OLD, new)
    assert after.manifest == new.manifest
    assert not changes.is_changed(after, new)


@pytest.mark.parametrize(
    ("edit", "fields"),
    [
        (lambda given: _main(given).update(command=["other"]), ("spec",)),
        (lambda given: _main(given)["resources"]["limits"].update(memory="3Gi"), ("spec",)),
        (lambda given: _main(given).update(imagePullPolicy="Never"), ("spec",)),
        (lambda given: given["spec"].pop("initContainers"), ("spec",)),
        (lambda given: given["spec"].update(tolerations=[{"key": "b"}]), ("spec.tolerations",)),
        (lambda given: given["spec"].pop("tolerations"), ("spec.tolerations",)),
    ],
)
def test_what_was_decided_on_may_not(edit: Edit, fields: tuple[str, ...]) -> None:
    new = _edited(edit)
    assert changes.is_changed(OLD, new)
    assert changes.unchangeable(OLD, new) == fields


@pytest.mark.parametrize(
    "edit",
    [
        lambda given: given["metadata"].pop("annotations"),
        lambda given: _main(given)["resources"]["limits"].update(memory="2048Mi"),
        lambda given: given["metadata"].update(
            resourceVersion="7", creationTimestamp="2026-01-01T00:00:00Z"
        ),
    ],
)
def test_what_only_looks_otherwise_is_no_change(edit: Edit) -> None:
    assert not changes.is_changed(OLD, _edited(edit))


def test_labels_and_images_are_those_of_the_new_pod_and_what_runs_is_the_old_one() -> None:
    def edit(given: dict[str, Any]) -> None:
        given["metadata"]["labels"] = {"app": "db"}
        _main(given)["image"] = "web:2"

    after = changes.changed(OLD, _edited(edit))
    assert after.pod.labels == {"app": "db"}
    assert after.container("main") == replace(OLD.container("main"), image="web:2")
    assert after.pod.app_containers is OLD.pod.app_containers


@pytest.mark.parametrize("tolerations", [["odd"], "none"])
def test_a_toleration_of_an_unknown_form_stays_as_it_is(tolerations: object) -> None:
    spec = {**OLD.manifest["spec"], "tolerations": tolerations}
    odd = replace(OLD, manifest={**OLD.manifest, "spec": spec})
    assert changes.unchangeable(odd, odd) == ()
    assert changes.unchangeable(odd, OLD) == ("spec.tolerations",)


def test_nothing_of_a_pod_of_the_manifest_folder_may_change() -> None:
    of_file = replace(OLD, source=WorkloadSource.FILE)
    assert changes.unchangeable(of_file, OLD) == ()
    labelled = _edited(lambda given: given["metadata"].update(labels={"app": "db"}))
    assert changes.unchangeable(of_file, labelled) == ("metadata.labels",)
    other = _edited(lambda given: _main(given).update(image="web:2"))
    assert changes.unchangeable(of_file, other) == ("spec",)
