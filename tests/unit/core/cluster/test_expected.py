"""A node as it will be once the pods that were sent to it have come."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster.cluster import ClusterNode, Origin
from numalet.core.cluster.holding import expected, on_the_way
from numalet.core.model.pod import Pod
from values import gpu_fleet


def published(*pods: Pod, comes: Pod | None = None) -> ClusterNode:
    """A node whose object tells of these pods, and to which another one was bound since."""
    there = replace(gpu_fleet.running("n", pods), origin=Origin.PUBLISHED)
    return there if comes is None else replace(there, node=there.node.keep_active(comes))


def gpus_free(on: ClusterNode) -> int:
    device = on.node.release_stale().snapshot.device
    return 8 - len(device.in_use.get(gpu_fleet.GPU, ()))


def test_a_node_to_which_nothing_comes_is_the_same_object() -> None:
    node = published(gpu_fleet.pod("a", 2))
    assert expected(node) is node
    assert on_the_way(node) == ()


def test_a_pod_on_its_way_holds_what_it_will_hold() -> None:
    node = published(gpu_fleet.pod("a", 2), comes=gpu_fleet.pod("b", 4))
    assert gpus_free(node) == 6
    assert [pod.uid for pod in on_the_way(node)] == ["b"]
    after = expected(node)
    assert gpus_free(after) == 2
    assert after.node.snapshot.requested.pods == 2


def test_a_pod_whose_containers_run_has_been_decided_on() -> None:
    holds_nothing = replace(gpu_fleet.pod("b", 0, 0, 0), app_containers=(), phase="Running")
    node = published(comes=holds_nothing)
    assert on_the_way(node) == ()
    assert expected(node) is node


def test_pods_of_a_rebuilt_node_were_admitted_already() -> None:
    node = replace(published(comes=gpu_fleet.pod("b", 4)), origin=Origin.REBUILT)
    assert on_the_way(node) == ()


def test_what_was_promised_comes_after_what_is_on_its_way() -> None:
    node = published(comes=gpu_fleet.pod("b", 4))
    after = expected(node, [gpu_fleet.pod("c", 4)])
    assert {*after.node.snapshot.pods} == {"b", "c"}
    assert gpus_free(after) == 0


def test_a_promised_pod_that_is_bound_meanwhile_counts_once() -> None:
    pod = gpu_fleet.pod("b", 4)
    after = expected(published(comes=pod), [pod])
    assert gpus_free(after) == 4
    assert after.node.snapshot.requested.pods == 1


def test_a_pod_that_the_node_would_reject_holds_nothing_in_advance() -> None:
    pairs = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    split = replace(gpu_fleet.running("n", pairs, gone="ac"), origin=Origin.PUBLISHED)
    assert gpus_free(expected(split, [gpu_fleet.pod("four", 4)])) == 4
    comes = replace(split, node=split.node.keep_active(gpu_fleet.pod("four", 4)))
    after = expected(comes)
    assert gpus_free(after) == 4
    assert "four" not in after.node.snapshot.pods
