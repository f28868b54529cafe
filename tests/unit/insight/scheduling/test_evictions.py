"""Whether evictions could help a pod on a node that refuses it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.pod import Pod
from numalet.insight.scheduling import evictions, filtering
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import Filtered, FilterRules, NodeFilter
from values import gpu_fleet


def asked(pods: Iterable[Pod], gpus: int = 4, priority: int = 10) -> Filtered:
    """What is said of a node with these pods."""
    nodes = ExpectedNodes()
    nodes.put("n", gpu_fleet.running("n", pods))
    pod = gpu_fleet.pod("asks", gpus, priority=priority)
    return NodeFilter(nodes).filtered(ClusterPod(pod=pod), ["n"])


def is_curable(*pods: Pod, gpus: int = 4, priority: int = 10) -> bool:
    answer = asked(pods, gpus, priority)
    assert {*answer.failed} == {"n"}
    assert answer.unresolvable in ({}, answer.failed)
    return not answer.unresolvable


def pair(uid: str, priority: int = 0) -> Pod:
    return gpu_fleet.pod(uid, 2, priority=priority)


def test_pods_of_a_lower_priority_may_go() -> None:
    assert is_curable(pair("a"), pair("b"), pair("c"))
    assert not is_curable(pair("a", 10), pair("b", 10), pair("c", 11))
    # One GPU node is kept by the pods that stay.
    assert is_curable(pair("a", 10), pair("b"), pair("c"))
    assert not is_curable(pair("a", 10), pair("b"), pair("c", 10))


def test_a_pod_without_a_priority_has_the_priority_0() -> None:
    without = [replace(pair(uid), priority=None) for uid in "abc"]
    assert is_curable(*without, priority=1)
    assert not is_curable(*without, priority=0)


def test_a_static_pod_comes_back() -> None:
    assert not is_curable(*[replace(pair(uid), is_static=True) for uid in "abc"])


def test_what_never_fits_is_cured_by_nothing() -> None:
    assert not is_curable(pair("a"), gpus=8)
    assert not is_curable(gpus=8)


def test_the_answer_is_remembered_until_the_node_changes() -> None:
    nodes = ExpectedNodes()
    nodes.put("n", gpu_fleet.running("n", [pair(uid) for uid in "abc"]))
    answers, pod = NodeFilter(nodes), ClusterPod(pod=gpu_fleet.pod("asks", 4, priority=10))
    assert answers.filtered(pod, ["n"]).unresolvable == {}
    decided = answers.memory.of(pod.pod).table.admissions
    assert answers.filtered(pod, ["n"]).unresolvable == {}
    assert answers.memory.of(pod.pod).table.admissions == decided
    nodes.put("n", gpu_fleet.running("n", [pair(uid, 10) for uid in "abc"]))
    assert {*answers.filtered(pod, ["n"]).unresolvable} == {"n"}


def test_without_time_nothing_is_called_incurable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "_NODES_IN_A_TURN", 1)
    nodes = ExpectedNodes()
    names = [f"n{at}" for at in range(3)]
    for name in names:
        nodes.put(name, gpu_fleet.running(name, [pair(uid, 10) for uid in "abc"]))
    answers, pod = NodeFilter(nodes), ClusterPod(pod=gpu_fleet.pod("asks", 4, priority=10))
    left = iter([True, True, True, False])
    answer = answers.filtered(pod, names, lambda: next(left))
    assert ({*answer.failed}, {*answer.unresolvable}) == ({*names}, {"n0", "n1"})


def test_nothing_is_evicted_from_nodes_of_which_nothing_is_known() -> None:
    rules = FilterRules(passes_unknown=False)
    answer = NodeFilter(ExpectedNodes(), rules).filtered(gpu_fleet.asking(4), ["n"])
    assert {*answer.unresolvable} == {"n"}


def test_pods_that_are_gone_hold_nothing_at_the_next_admission() -> None:
    node = gpu_fleet.running("n", [pair(uid) for uid in "abcd"]).node
    assert not node.fits(gpu_fleet.pod("p", 4))
    assert evictions.without(node, "ab").fits(gpu_fleet.pod("p", 4))
    assert not evictions.without(node, "ac").fits(gpu_fleet.pod("p", 4))
