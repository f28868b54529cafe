"""Pods as a scenario has them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.model.node_constraints import NodeConstraints
from numalet.insight.simulate import recording
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.text.typed import Place
from values import builders, whole_pods


def test_where_a_pod_may_run_is_written_only_if_it_is_known() -> None:
    pod = builders.simple("u", "1Gi")
    free = recording.pod_document(replace(pod, constraints=NodeConstraints()))
    unknown = recording.pod_document(replace(pod, constraints=None))
    assert unknown["spec"] == {
        name: value
        for name, value in free["spec"].items()
        if name not in ("nodeSelector", "affinity")
    }


def test_a_pod_that_needs_strict_groups_needs_them_when_it_is_read_again() -> None:
    pod = replace(builders.simple("u", "1Gi"), constraints=NodeConstraints(strict_groups=True))
    written = recording.pod_document(pod)
    assert written["spec"]["securityContext"] == {"supplementalGroupsPolicy": "Strict"}
    assert pod_manifest.decode_pod(written, Place("p")).constraints == pod.constraints


def test_empty_resources_of_the_pod_stay_empty_when_it_is_read_again() -> None:
    pod = replace(builders.simple("u", "1Gi"), has_empty_resources=True)
    written = recording.pod_document(pod)
    assert written["spec"]["resources"] == {}
    assert pod_manifest.decode_pod(written, Place("p")).has_empty_resources


@pytest.mark.parametrize("release", ["1.33", "1.36"])
def test_a_pod_that_asks_as_a_whole_is_decided_on_alike_when_it_is_read_again(release: str) -> None:
    entry = {"name": "c0", "allocatedResources": {"cpu": "1", "memory": "64Mi"}}
    pods = [
        whole_pods.pod(
            "u", whole_pods.asked("4", "2Gi"), {"s0": whole_pods.asked("1"), "c0": None}
        ),
        whole_pods.pod(
            "v", None, {"c0": whole_pods.asked("2", "1Gi")}, {"containerStatuses": [entry]}
        ),
    ]
    again = [pod_manifest.decode_pod(recording.pod_document(each), Place("p")) for each in pods]
    node = whole_pods.node(whole_pods.config(gates={}), release)

    assert [each.pod_level for each in again] == [each.pod_level for each in pods]
    assert [each.qos_class for each in again] == [each.qos_class for each in pods]
    for first, second in zip(pods, again, strict=True):
        assert node.admit(first)[1].placements == node.admit(second)[1].placements
