"""Which nodes admit a pod, as an extender answers."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster.cluster import ClusterPod, UndecidedNode
from numalet.core.findings.cluster import ClusterNodeWithoutClass
from numalet.core.model.pod import QosClass
from numalet.insight.scheduling import filtering
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import FilterRules, NodeFilter
from values import gpu_fleet


def fleet() -> ExpectedNodes:
    every = ExpectedNodes()
    for name, node in gpu_fleet.split_fleet().nodes.items():
        every.put(name, node)
    every.put("bare", UndecidedNode(name="bare", why=ClusterNodeWithoutClass(node="bare")))
    return every


def test_nodes_pass_in_the_order_in_which_they_were_named() -> None:
    answer = NodeFilter(fleet()).filtered(gpu_fleet.asking(4), ["seven", "split", "half"])
    assert answer.passed == ["seven", "half"]
    assert {*answer.failed} == {"split"}
    assert (answer.unknown, answer.unexamined) == (0, 0)


def test_nodes_of_which_nothing_is_known_pass_or_fail_as_configured() -> None:
    names, asks = ["bare", "of no one"], gpu_fleet.asking(4)
    lets_pass = NodeFilter(fleet()).filtered(asks, names)
    assert (lets_pass.passed, lets_pass.failed, lets_pass.unknown) == (names, {}, 2)
    strict = NodeFilter(fleet(), FilterRules(passes_unknown=False)).filtered(asks, names)
    assert (strict.passed, strict.unknown) == ([], 2)
    assert strict.failed == dict.fromkeys(names, filtering.NOT_KNOWN)


def test_nodes_that_were_not_examined_in_time_pass_or_fail_as_configured() -> None:
    names, asks = ["half", "split"], gpu_fleet.asking(4)
    strict = NodeFilter(fleet()).filtered(asks, names, lambda: False)
    assert (strict.passed, strict.unexamined, strict.unknown) == ([], 2, 0)
    assert strict.failed == dict.fromkeys(names, filtering.NOT_EXAMINED)
    assert strict.unresolvable == {}
    rules = FilterRules(passes_unexamined=True)
    assert NodeFilter(fleet(), rules).filtered(asks, names, lambda: False).passed == names


def test_a_node_that_no_eviction_would_help_is_named_twice() -> None:
    nodes = NodeFilter(fleet())
    never = nodes.filtered(gpu_fleet.asking(8), ["empty"])
    assert {*never.failed} == {*never.unresolvable} == {"empty"}


def test_all_of_an_answer_is_worked_out_ahead_as_far_as_there_is_time() -> None:
    nodes, asks = NodeFilter(fleet()), gpu_fleet.asking(4)
    assert not nodes.decide_ahead(asks, lambda: False)
    decided = iter([True])
    assert not nodes.decide_ahead(asks, lambda: next(decided, False))
    of = nodes.memory.of(asks.pod)
    assert (bool(of.by_name), of.curable) == (True, {})
    assert nodes.decide_ahead(asks, lambda: True)
    assert {*of.curable} == {name for name, each in of.by_name.items() if not each.admitted}
    assert nodes.decide_ahead(asks, lambda: False)
    assert not nodes.decide_ahead(gpu_fleet.asking(1), lambda: False)


def test_a_pod_without_an_opinion_needs_no_work() -> None:
    shared = replace(gpu_fleet.pod("shared", 0, 1), qos_class=QosClass.BURSTABLE)
    assert NodeFilter(fleet()).decide_ahead(ClusterPod(pod=shared), lambda: False)


def test_the_reason_of_one_node_is_that_of_the_filter() -> None:
    every = fleet()
    asks, nodes = gpu_fleet.asking(4), NodeFilter(every)
    answer = nodes.filtered(asks, ["split", "half"])
    assert nodes.reason(asks.pod, every.nodes["split"]) == answer.failed["split"]
    assert nodes.reason(asks.pod, every.nodes["half"]) == ""


def test_a_node_that_refused_a_shape_is_left_alone_for_it() -> None:
    asks, nodes = gpu_fleet.asking(4), NodeFilter(fleet())
    assert not nodes.is_left_alone(asks.pod, "half", 0.0)
    assert nodes.was_refused(asks.pod, "half", 0.0) == 10.0
    assert nodes.is_left_alone(asks.pod, "half", 9.0)
    assert not nodes.is_left_alone(asks.pod, "half", 10.0)
    assert not nodes.is_left_alone(gpu_fleet.asking(2).pod, "half", 9.0)
