"""Nodes that are left alone for a shape, for a while."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import ClusterNode
from numalet.core.model.node_constraints import NodeConstraints
from numalet.core.model.pod import Pod
from numalet.insight.scheduling import filtering
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import BackOff, BackOffs, NodeFilter
from values import gpu_fleet

SHAPE, STATE = ("four",), ("state",)


def lengths(*moments_seconds: float) -> list[float]:
    """How long the node is left alone after refusals at these moments."""
    every, found = BackOffs(), []
    for now in moments_seconds:
        every = every.refused("n", SHAPE, STATE, now)
        found.append(every.of_shape(SHAPE)["n"].seconds)
    return found


def test_each_refusal_doubles_the_time_up_to_ten_minutes() -> None:
    assert lengths(*[0.0] * 9) == [10, 20, 40, 80, 160, 320, 600, 600, 600]


def test_after_a_long_time_the_back_off_is_reset() -> None:
    assert lengths(0.0, 609.0) == [10, 20]
    assert lengths(0.0, 610.0) == [10, 10]


def test_a_back_off_holds_for_its_node_shape_and_state_until_it_is_over() -> None:
    every = BackOffs().refused("n", SHAPE, STATE, 5.0)
    assert every.holds("n", SHAPE, STATE, 14.9)
    assert not every.holds("n", SHAPE, STATE, 15.0)
    assert not every.holds("n", SHAPE, ("other",), 14.9)
    assert not every.holds("n", ("two",), STATE, 14.9)
    assert not every.holds("other", SHAPE, STATE, 14.9)
    assert not BackOffs().holds("n", SHAPE, STATE, 5.0)


def test_a_refusal_in_another_state_is_a_first_one() -> None:
    every = BackOffs().refused("n", SHAPE, STATE, 0.0).refused("n", SHAPE, ("other",), 1.0)
    assert every.of_shape(SHAPE)["n"] == BackOff(("other",), 10.0, 11.0)


def test_what_is_over_for_long_is_forgotten() -> None:
    every = BackOffs().refused("n", SHAPE, STATE, 0.0).refused("m", ("two",), STATE, 1.0)
    assert len(every) == 2
    assert {*every.refused("o", SHAPE, STATE, 610.5).of_shape(SHAPE)} == {"o"}
    assert len(every.refused("o", SHAPE, STATE, 610.5)) == 2


def test_of_too_many_those_that_end_first_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "MOST", 2)
    every = BackOffs()
    for at, name in enumerate("abc"):
        every = every.refused(name, SHAPE, STATE, float(at))
    assert {*every.of_shape(SHAPE)} == {"b", "c"}


ASKS = gpu_fleet.asking(4)


def with_one_node(pod: Pod = ASKS.pod, on: ClusterNode | None = None) -> NodeFilter:
    """An empty node whose kubelet refused this pod at the beginning."""
    nodes = ExpectedNodes()
    nodes.put("n", on or gpu_fleet.running("n", []))
    answers = NodeFilter(nodes)
    assert answers.was_refused(pod, "n", 0.0) == 10.0
    return answers


def passes(answers: NodeFilter, now_seconds: float, pod: Pod = ASKS.pod) -> bool:
    asked = replace(ASKS, pod=pod)
    answer = answers.filtered(asked, ["n"], now_seconds=now_seconds)
    if not answer.passed:
        text = {"n": filtering.LEFT_ALONE}
        assert (answer.failed, answer.unresolvable) == (text, text)
    return bool(answer.passed)


def test_a_node_whose_kubelet_refused_a_shape_does_not_get_it_for_a_while() -> None:
    answers = with_one_node()
    assert not passes(answers, 9.9)
    assert passes(answers, 9.9, gpu_fleet.pod("other", 2))
    assert passes(answers, 10.0)
    assert answers.was_refused(ASKS.pod, "n", 11.0) == 20.0
    assert not passes(answers, 30.9)


def test_the_same_state_in_another_object_ends_nothing() -> None:
    answers = with_one_node()
    on = answers.nodes.nodes["n"]
    again = replace(on, node=on.node.at(replace(on.node.snapshot)))
    answers.nodes.put("n", again)
    assert not passes(answers, 9.9)


def test_a_change_that_the_shape_can_see_ends_it() -> None:
    answers = with_one_node()
    on = answers.nodes.nodes["n"]
    after, _ = on.node.admit(gpu_fleet.pod("other", 1))
    answers.nodes.put("n", replace(on, node=after))
    assert passes(answers, 9.9)


def test_a_node_that_is_gone_is_not_left_alone() -> None:
    answers = with_one_node()
    answers.nodes.put("n", None)
    assert passes(answers, 9.9)
    assert answers.was_refused(ASKS.pod, "n", 9.9) == 0.0


@pytest.mark.parametrize("priority", [0, 2_000_000_001])
def test_pods_with_constraints_and_critical_ones_see_more(priority: int) -> None:
    pod = replace(ASKS.pod, constraints=NodeConstraints(selector={"zone": "a"}), priority=priority)
    node = gpu_fleet.running("n", [])
    labelled = replace(node.node.rules.identity, labels={"zone": "a"})
    roster = node.node.roster
    in_zone = replace(roster, rules=replace(roster.rules, identity=labelled))
    answers = with_one_node(pod, replace(node, node=replace(node.node, roster=in_zone)))
    on = answers.nodes.nodes["n"]
    again = replace(on, node=on.node.at(replace(on.node.snapshot)))
    answers.nodes.put("n", again)
    assert not passes(answers, 9.9, pod)
    after, _ = on.node.admit(gpu_fleet.pod("other", 0, 0, 0))
    answers.nodes.put("n", replace(on, node=after))
    assert passes(answers, 9.9, pod)
