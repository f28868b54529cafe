"""Who makes a pod again."""

from __future__ import annotations

from numalet.insight.rejections import rejected_pod
from numalet.insight.rejections.rejected_pod import OwnerLink, TopOwner

RUNNER = {"apiVersion": "ci.example.com/v1", "kind": "Runner", "name": "r1", "uid": "u1"}
SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d4b", "uid": "u2"}


def test_the_controller_comes_before_other_owners() -> None:
    metadata = {"ownerReferences": [RUNNER, {**SET, "controller": True}]}
    owner = OwnerLink("apps/v1", "ReplicaSet", "shop", "web-7d4b", "u2")
    assert rejected_pod.next_owner(metadata, "shop") == owner
    assert owner.group == "apps"
    assert OwnerLink("v1", "Pod", "shop", "p").group == ""


def test_without_a_controller_the_first_owner_counts() -> None:
    metadata = {"ownerReferences": [{"kind": "Nameless"}, RUNNER, SET]}
    assert rejected_pod.next_owner(metadata, "ci") == OwnerLink(
        "ci.example.com/v1", "Runner", "ci", "r1", "u1"
    )
    assert rejected_pod.next_owner({}, "ci") is None


def test_the_top_is_the_end_of_the_chain_of_whatever_kind() -> None:
    chain = [
        OwnerLink("batch/v1", "Job", "ci", "j", "u3"),
        OwnerLink("ci.example.com/v1", "Runner", "ci", "r1", "u1"),
    ]
    owner = rejected_pod.top_owner("ci", "p", "u", {"app": "x"}, chain)
    assert owner == TopOwner("Runner", "ci", "r1", "ci.example.com/v1", "u1")
    assert str(owner) == "Runner ci/r1"


def test_without_a_chain_the_labels_stand_for_the_template() -> None:
    labels = {"tier": "gpu", "app": "train", "pod-template-hash": "7d4b", "job-name": "train-1"}
    owner = rejected_pod.top_owner("ml", "p", "u", labels, ())
    assert owner == TopOwner("labels", "ml", "app=train,tier=gpu")


def test_a_pod_without_labels_of_its_own_is_its_own_owner() -> None:
    owner = rejected_pod.top_owner("ml", "p", "u", {"pod-template-hash": "7d4b"}, ())
    assert owner == TopOwner("Pod", "ml", "p", "v1", "u")
