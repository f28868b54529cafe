"""Whether evictions could help a pod on a node that refuses it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pytest

from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.model.node_constraints import UNCONSTRAINED, HostPort, NodeConstraints
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
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


def daemon(uid: str, milli_cpus: int = 100) -> Pod:
    """A pod that stays and holds nothing."""
    requests = {"cpu": Quantity.parse(f"{milli_cpus}m")}
    only = Container("main", requests=requests)
    return Pod(
        uid=uid,
        name=uid,
        app_containers=(only,),
        qos_class=QosClass.BURSTABLE,
        priority=100,
        constraints=UNCONSTRAINED,
    )


SELECTS: Final = NodeConstraints(selector={"zone": "a"})


def decisions(nodes: Iterable[ClusterNode], pod: Pod) -> tuple[int, list[bool]]:
    """How many states were decided on, and whether evictions could help on each of these nodes."""
    expected = ExpectedNodes()
    for each in nodes:
        expected.put(each.name, each)
    names = [*expected.nodes]
    answers, asked = NodeFilter(expected), ClusterPod(pod=pod)
    of = answers.memory.of(pod)
    assert not answers.memory.decide(of, names, lambda: True)
    before = of.table.admissions
    answer = answers.filtered(asked, names)
    assert {*answer.failed} == {*names}
    return of.table.admissions - before, [name not in answer.unresolvable for name in names]


def full(name: str, *more: Pod, on: Node) -> ClusterNode:
    """A node on which all GPUs are in use, and on which other pods are too."""
    return gpu_fleet.running(name, [*more, *[pair(f"{name}-{each}") for each in "abcd"]], on=on)


FOUR: Final = gpu_fleet.pod("asks", 4, priority=10)


def test_nodes_of_which_as_much_is_left_are_decided_on_once() -> None:
    on = gpu_fleet.empty()
    nodes = [full(f"n{at}", daemon("x"), daemon("y"), on=on) for at in range(5)]
    assert decisions(nodes, FOUR) == (1, [True] * 5)


def test_what_the_pods_that_stay_request_counts() -> None:
    on = gpu_fleet.empty()
    small = [gpu_fleet.pod(uid, 2, 1, 1) for uid in "abcd"]
    nodes = [
        gpu_fleet.running("some", [daemon("x", 1000), *small], on=on),
        gpu_fleet.running("much", [daemon("x", 40_000), *small], on=on),
    ]
    # 62 CPUs are for pods.
    assert decisions(nodes, gpu_fleet.pod("asks", 4, 30, 1, priority=10))[1] == [True, False]


def test_labels_count_where_the_pod_selects_nodes() -> None:
    on = gpu_fleet.empty()
    named = [full(name, on=on) for name in "ab"]
    nodes = [
        replace(each, node=replace(each.node, roster=replace(each.node.roster, rules=replace(
            each.node.rules, identity=replace(each.node.rules.identity, labels={"zone": each.name})
        ))))
        for each in named
    ]  # fmt: skip
    pod = replace(FOUR, constraints=SELECTS)
    assert decisions(nodes, pod)[1] == [True, False]


PORTS: Final = NodeConstraints(ports=(HostPort(80),))


@pytest.mark.parametrize(
    "pod", [replace(FOUR, constraints=PORTS), replace(FOUR, priority=2_000_000_000)]
)
def test_pods_to_which_more_counts_are_decided_on_node_by_node(pod: Pod) -> None:
    assert decisions([full("n", on=gpu_fleet.empty())], pod)[1] == [True]


def test_nodes_on_which_a_pod_stays_that_holds_something_are_decided_on_one_by_one() -> None:
    stays = gpu_fleet.pod("stays", 1, 1, 1, priority=100)
    node = gpu_fleet.running("n", [stays, *[pair(each) for each in "abc"]])
    assert decisions([node], FOUR)[1] == [True]


def test_what_a_group_of_numa_nodes_gives_back_is_seen_node_by_node() -> None:
    wide = gpu_fleet.pod("wide", 8, 40, 300)
    node = gpu_fleet.running("n", [wide], on=gpu_fleet.empty("restricted"))
    assert decisions([node], FOUR)[1] == [True]


def test_before_all_sources_are_ready_nothing_is_released() -> None:
    node = full("n", on=gpu_fleet.empty())
    snapshot = replace(node.node.snapshot, sources_ready=False)
    held = replace(node, node=node.node.at(snapshot))
    assert decisions([held], FOUR)[1] == [False]


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
