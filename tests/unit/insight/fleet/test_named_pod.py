"""A pod of a cluster is found by what a user writes, or the error says what was meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import Cluster, ClusterPod, Controller
from numalet.core.model.findings import BadInput
from numalet.insight.fleet import named_pod
from values import gpu_fleet

JOB = Controller("Job", "llm")
REPLICAS = Controller("ReplicaSet", "web-6d9")


def known(
    namespace: str, name: str, owner: Controller | None = None, *, reason: str = "", uid: str = ""
) -> ClusterPod:
    pod = replace(gpu_fleet.pod(uid or f"{namespace}-{name}", 1), namespace=namespace, name=name)
    if reason:
        pod = replace(pod, node_name="n", phase="Failed")
    return ClusterPod(pod=pod, controller=owner, reason=reason)


def cluster(pods: Iterable[ClusterPod]) -> Cluster:
    return Cluster(pods={each.pod.uid: each for each in pods})


PODS = (
    known("train", "llm-0", JOB),
    known("train", "llm-1", JOB, reason="TopologyAffinityError"),
    known("test", "llm-0"),
    known("serve", "web-6d9-x", REPLICAS),
)


def error(text: str, pods: Iterable[ClusterPod] = PODS) -> str:
    with pytest.raises(BadInput) as bad:
        named_pod.find(cluster(pods), text)
    return str(bad.value.findings[0])


@pytest.mark.parametrize("text", ["train/llm-1", "llm-1", "train-llm-1"])
def test_a_pod_is_found_by_its_names_and_its_uid(text: str) -> None:
    assert str(named_pod.find(cluster(PODS), text).pod) == "train/llm-1"


def test_of_two_pods_of_one_name_the_younger_one_is_meant() -> None:
    old = replace(known("a", "b", uid="1"), created_at_seconds=2.0)
    new = replace(known("a", "b", uid="0"), created_at_seconds=3.0)
    assert named_pod.find(cluster([old, new]), "a/b") is new


def test_a_name_in_several_namespaces_is_no_answer() -> None:
    said = error("llm-0")
    assert said.startswith("pods called 'llm-0' are in several namespaces: test, train")
    assert "NAMESPACE/POD" in said


@pytest.mark.parametrize("text", ["llm", "train/llm", "job/llm"])
def test_a_workload_names_its_pods_the_rejected_ones_first(text: str) -> None:
    assert error(text).startswith(
        f"{text!r} is a Job with 2 pods, 1 of them rejected, not a pod; name one: train/llm-1,"
        " train/llm-0"
    )


def test_a_deployment_is_known_by_its_replica_sets() -> None:
    said = "with 1 pod, not a pod; name one: serve/web-6d9-x"
    assert f"'serve/web' is a Deployment {said}" in error("serve/web")
    assert f"'web-6d9' is a ReplicaSet {said}" in error("web-6d9")


def test_of_a_large_workload_the_first_pods_are_named() -> None:
    said = error("llm", [known("train", f"llm-{at}", JOB) for at in range(7)])
    assert "train/llm-4 and 2 more" in said


def test_near_names_are_suggested() -> None:
    assert "did you mean train/llm-1 or train/llm-0?" in error("train/llm-11")
    assert "did you mean serve/web-6d9-x?" in error("web-6d9-y")


def test_a_namespace_without_pods_is_said() -> None:
    said = error("tran/llm-1")
    assert "no pod is in the namespace 'tran'; did you mean train/llm-1" in said


def test_without_a_near_name_the_list_of_rejected_pods_is_named() -> None:
    assert (
        error("zzz") == "no pod is called 'zzz'; 'numalet fleet rejected' lists the rejected pods"
    )
    assert error("zzz", []) == "no pod is called 'zzz'; the cluster has no pods"
