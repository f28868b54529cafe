"""What a cluster knows about rejected pods: by owner, shape and reason, and where they fit now."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster.cluster import Cluster, ClusterPod, Controller
from numalet.insight.fleet import rejected
from numalet.insight.fleet.assessing import Assessor
from values import gpu_fleet
from values.gpu_fleet import split_fleet

JOB = Controller("Job", "llm")
ALIGNMENT = "TopologyAffinityError"


def refused(
    uid: str, gpus: int, node: str, at: float | None, reason: str = ALIGNMENT
) -> ClusterPod:
    pod = replace(gpu_fleet.pod(uid, gpus), node_name=node, phase="Failed")
    return ClusterPod(
        pod=pod, controller=JOB, reason=reason, message=f"about {uid}", created_at_seconds=at
    )


def fleet(*pods: ClusterPod) -> Cluster:
    there = split_fleet()
    return replace(there, pods={**there.pods, **{each.pod.uid: each for each in pods}})


def test_nothing_is_said_of_pods_that_run_or_failed_otherwise() -> None:
    evicted = refused("e", 1, "half", 1.0, reason="Evicted")
    answer = rejected.rejected(fleet(evicted))
    assert (answer.count, answer.nodes, answer.groups) == (0, {}, ())


def test_pods_of_an_owner_and_shape_are_one_group() -> None:
    pods = [refused("a1", 4, "split", 20.0), refused("a2", 4, "half", 10.0)]
    answer = rejected.rejected(fleet(*pods, refused("a3", 4, "split", 30.0)), Assessor())
    (group,) = answer.groups
    assert (group.namespace, group.owner, group.reason) == ("default", "Job/llm", ALIGNMENT)
    assert (group.count, dict(group.nodes)) == (3, {"split": 2, "half": 1})
    # The last one stands for them.
    assert (group.pod, group.message) == ("a3", "about a3")
    assert (group.first_at_seconds, group.last_at_seconds) == (10.0, 30.0)
    assert group.amounts[gpu_fleet.GPU] == 4
    assert group.fits_on == ("empty", "half", "seven")
    assert group.fits_there == ("half",)


def test_the_latest_rejections_come_first() -> None:
    other = refused("b", 2, "split", 50.0)
    pods = [refused("a", 4, "split", 20.0), other, refused("c", 4, "half", None, "OutOfcpu")]
    answer = rejected.rejected(fleet(*pods))
    assert [each.pod for each in answer.groups] == ["b", "a", "c"]
    assert answer.groups[2].first_at_seconds is None
    assert (answer.count, dict(answer.nodes)) == (3, {"split": 2, "half": 1})


def test_a_kubelets_first_sight_counts_more_than_the_creation() -> None:
    pod = replace(refused("a", 4, "split", 20.0), started_at_seconds=25.0)
    assert rejected.seen_at_seconds(pod) == 25.0
