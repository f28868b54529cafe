"""Bare pods that are created anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.cluster.cluster import UndecidedNode
from numalet.core.findings.cluster import ClusterNodeWithoutClass
from numalet.insight.rejections import patches
from numalet.insight.rejections.actions import RecreatePod
from numalet.insight.rejections.recreating import new_manifest
from numalet.insight.rejections.rejected_pod import RejectedPod
from values.pod_storms import START, facts, full, plan, rejection, roomy

MANIFEST: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "namespace": "default",
        "uid": "p",
        "resourceVersion": "7",
        "labels": {"app": "x"},
        "annotations": {"numalet.dev/recreate": "true"},
        "managedFields": [{}],
    },
    "spec": {
        "nodeName": "n0",
        "containers": [
            {
                "name": "main",
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                    {
                        "name": "kube-api-access-x",
                        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                    },
                ],
            }
        ],
        "volumes": [{"name": "data"}, {"name": "kube-api-access-x"}],
    },
    "status": {"phase": "Failed"},
}


def bare(attempt: str | None = None, **fields: Any) -> RejectedPod:
    annotations = {"numalet.dev/recreate": "true"}
    if attempt is not None:
        annotations[patches.RECREATE_ATTEMPT] = attempt
    return replace(rejection("p", chain=(), manifest=MANIFEST, annotations=annotations), **fields)


def made(pod: RejectedPod, after_seconds: float, *nodes: Any) -> list[RecreatePod]:
    _, actions = plan([pod], facts(nodes or [roomy("n1")]), START + after_seconds)
    return [each for each in actions if isinstance(each, RecreatePod)]


def test_it_is_recreated_after_a_pause_under_another_name() -> None:
    state, actions = plan([bare()], facts([roomy("n1")]), START + 9)
    assert (actions, state.again_at_seconds) == ((), START + 10)
    (action,) = made(bare(), 10)
    assert (action.target, action.attempt) == ("pod default/p-again-1", 1)
    assert (action.of_name, action.of_uid, action.of_resource_version) == ("p", "p", "7")


def test_the_new_manifest_has_nothing_that_others_wrote() -> None:
    new = new_manifest(MANIFEST, "p-again-1", 1, "p")
    assert new == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p-again-1",
            "namespace": "default",
            "labels": {"app": "x"},
            "annotations": {
                "numalet.dev/recreate": "true",
                patches.RECREATED_FROM: "p",
                patches.RECREATE_ATTEMPT: "1",
            },
        },
        "spec": {
            "containers": [
                {"name": "main", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
            ],
            "volumes": [{"name": "data"}],
        },
    }
    assert MANIFEST["spec"]["nodeName"] == "n0"


def test_a_manifest_without_a_token_stays_as_its_author_wrote_it() -> None:
    spec = {"containers": [{"name": "main"}], "initContainers": None}
    assert new_manifest({"spec": spec}, "q", 1, "p")["spec"] == spec


@pytest.mark.parametrize(
    ("attempt", "name", "pause"),
    [("1", "p-again-2", 20), ("2", "p-again-3", 40), ("5", "p-again-6", 320)],
)
def test_each_pause_is_twice_as_long_as_the_one_before(attempt: str, name: str, pause: int) -> None:
    there = bare(attempt)
    there = replace(
        there, pod=replace(there.pod, pod=replace(there.pod.pod, name=f"p-again-{attempt}"))
    )
    assert made(there, pause - 1) == []
    (action,) = made(there, pause)
    assert action.name == name


def test_after_so_many_attempts_it_is_left_as_it_is() -> None:
    assert made(bare("6"), 10_000) == []


@pytest.mark.parametrize("attempt", ["", "many", "-1", "²", "999999999999"])
def test_an_attempt_that_can_not_be_read_is_none(attempt: str) -> None:
    (action,) = made(bare(attempt), 10)
    assert action.attempt == 1


def test_one_that_did_not_ask_for_it_or_that_ran_is_left_as_it_is() -> None:
    assert made(bare(manifest=None), 100) == []
    assert made(bare(never_started=False), 100) == []


def test_it_waits_until_a_node_would_admit_it_or_nothing_is_known_of_one() -> None:
    assert made(bare(), 100, full("n1")) == []
    given = facts([full("n1")])
    unknown = UndecidedNode(name="u", why=ClusterNodeWithoutClass(node="u"))
    given = replace(given, cluster=replace(given.cluster, undecided={"u": unknown}))
    _, actions = plan([bare()], given, START + 100)
    assert [each.verb for each in actions] == ["recreate"]


def test_it_is_not_created_twice_in_a_row_and_an_early_clock_makes_it_wait_no_longer() -> None:
    state, _ = plan([bare()], facts([roomy("n1")]), START + 100)
    _, actions = plan([bare()], facts([roomy("n1")]), START + 101, before=state)
    assert actions == ()
    ahead = bare(rejected_at_seconds=START + 3600)
    assert made(ahead, 0) == []
    state, _ = plan([ahead], facts([roomy("n1")]))
    assert state.again_at_seconds == START + 10


def test_a_long_name_is_cut() -> None:
    there = bare()
    long = replace(there, pod=replace(there.pod, pod=replace(there.pod.pod, name="p" * 253)))
    (action,) = made(long, 10)
    assert len(action.name) == 253
    assert action.name.endswith("pp-again-1")
