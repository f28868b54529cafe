"""Which pods were rejected at admission, and what is known of them."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.insight.rejections import rejected_pod
from numalet.insight.rejections.rejected_pod import TopOwner, rejected
from values import gpu_fleet
from values.pod_storms import DEPLOYMENT, OWNER, REPLICA_SET, big, on

POD = on(big("p"), "n0", "Failed")


def document(status: Any = None, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "uid": "p", "resourceVersion": "12", **metadata},
        "status": {
            "phase": "Failed",
            "reason": "TopologyAffinityError",
            "message": "Pod was rejected: no",
            "startTime": "2023-11-14T22:13:20Z",
            **(status or {}),
        },
    }


def test_a_rejected_pod_has_its_owner_its_shape_and_its_moment() -> None:
    labels = {"app": "web"}
    made = rejected(document(labels=labels), POD, [REPLICA_SET, DEPLOYMENT])
    assert made is not None
    assert (made.uid, made.namespace, made.name, made.node) == ("p", "default", "p", "n0")
    assert (made.owner, made.labels) == (OWNER, labels)
    assert (made.resource_version, made.reason) == ("12", "TopologyAffinityError")
    assert made.message == "Pod was rejected: no"
    assert made.rejected_at_seconds == 1_700_000_000.0
    assert (made.never_started, made.chain_is_whole, made.manifest) == (True, True, None)


@pytest.mark.parametrize(
    ("reason", "counts"),
    [
        ("TopologyAffinityError", True),
        ("UnexpectedAdmissionError", True),
        ("SMTAlignmentError", True),
        ("EmptyPodSharedPoolError", True),
        ("OutOfcpu", True),
        ("OutOfnvidia.com/gpu", True),
        ("Evicted", False),
        ("NodeShutdown", False),
        ("", False),
    ],
)
def test_reasons_of_admission_count_and_no_others(reason: str, counts: bool) -> None:
    assert (rejected(document({"reason": reason}), POD) is not None) is counts


def test_a_pod_that_has_not_failed_or_has_no_node_was_not_rejected() -> None:
    assert rejected(document({"phase": "Running"}), POD) is None
    assert rejected(document(), big("p")) is None


def test_a_pod_that_is_being_deleted_and_a_static_one_do_not_count() -> None:
    assert rejected(document(deletionTimestamp="2023-11-14T22:13:20Z"), POD) is None
    assert rejected(document(annotations={rejected_pod.MIRROR: "x"}), POD) is None


@pytest.mark.parametrize(
    "status",
    [
        {"containerID": "containerd://1"},
        {"started": True},
        {"restartCount": 1},
        {"state": {"running": {}}},
        {"state": {"terminated": {}}},
        {"lastState": {"terminated": {}}},
    ],
)
def test_a_container_that_ever_ran_is_seen(status: dict[str, Any]) -> None:
    for name in ("initContainerStatuses", "containerStatuses"):
        made = rejected(document({name: [{"state": {"waiting": {}}}, status]}), POD)
        assert made is not None
        assert not made.never_started


@pytest.mark.parametrize(
    ("status", "created", "moment"),
    [
        ({}, "2023-11-14T22:13:10Z", 1_700_000_000.0),
        ({"startTime": None}, "2023-11-14T22:13:10Z", 1_699_999_990.0),
        ({"startTime": "soon"}, "2023-11-14T22:13:10", 1_699_999_990.0),
        ({"startTime": None}, None, 0.0),
    ],
)
def test_the_moment_is_the_best_one_that_the_object_has(
    status: dict[str, Any], created: str | None, moment: float
) -> None:
    made = rejected(document(status, creationTimestamp=created), POD)
    assert made is not None
    assert made.rejected_at_seconds == moment


def test_the_moment_at_which_it_was_seen_comes_before_all_others() -> None:
    made = rejected(document(), POD, seen_at_seconds=5.0)
    assert made is not None
    assert made.rejected_at_seconds == 5.0


def test_only_a_bare_pod_that_asks_for_it_is_kept_as_it_is() -> None:
    wanted = document(annotations={rejected_pod.RECREATE: "true"})
    made = rejected(wanted, POD)
    assert made is not None
    assert made.manifest is wanted
    assert made.owner == TopOwner("Pod", "default", "p", "v1", "p")
    owned = document(
        annotations={rejected_pod.RECREATE: "true"}, ownerReferences=[{"kind": "X", "name": "x"}]
    )
    made = rejected(owned, POD)
    assert made is not None
    assert made.manifest is None


def test_the_pods_of_one_template_have_one_shape_and_others_another() -> None:
    assert rejected_pod.shape_digest(on(big("a"), "n0")) == rejected_pod.shape_digest(big("b"))
    other = gpu_fleet.asking(2)
    assert rejected_pod.shape_digest(other) != rejected_pod.shape_digest(big("b"))
