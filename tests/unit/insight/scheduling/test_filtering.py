"""Which nodes admit a pod, as an extender answers."""

from __future__ import annotations

from numalet.core.cluster.cluster import UndecidedNode
from numalet.core.findings.cluster import ClusterNodeWithoutClass
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
