"""Points for the nodes that a filter let pass."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from numalet.core.cluster.cluster import ClusterPod, UndecidedNode
from numalet.core.findings.cluster import ClusterNodeWithoutClass
from numalet.core.model.pod import Pod, QosClass
from numalet.insight.fleet.preference import Preference
from numalet.insight.scheduling.expected_nodes import (
    ExpectedNodes,
    Promise,
    ShapeMemory,
    ShapeVerdicts,
)
from numalet.insight.scheduling.scoring import NodeScorer, Scored
from values import gpu_fleet

NAMES = ["bare", "empty", "half", "seven", "split"]


def fleet() -> ExpectedNodes:
    every = ExpectedNodes()
    for name, node in gpu_fleet.split_fleet().nodes.items():
        every.put(name, node)
    every.put("bare", UndecidedNode(name="bare", why=ClusterNodeWithoutClass(node="bare")))
    return every


def scorer(every: ExpectedNodes, by: Preference = Preference.PACK) -> NodeScorer:
    return NodeScorer(every, ShapeMemory(every), by)


def test_the_best_node_has_ten_and_what_was_not_decided_on_none() -> None:
    answer = scorer(fleet()).scored(gpu_fleet.asking(4), NAMES)
    # Four GPUs fit on the whole NUMA node of each but "split"; least is left on "half".
    points = {"bare": 0, "empty": 1, "half": 10, "seven": 5, "split": 0}
    assert answer == Scored(points, best="half")


def test_each_preference_has_its_own_best_node() -> None:
    every, asks = fleet(), gpu_fleet.asking(1)
    best = {by: scorer(every, by).scored(asks, NAMES).best for by in Preference}
    assert best == {
        Preference.PACK: "split",
        Preference.SPREAD: "empty",
        Preference.CLOSEST: "split",
    }


def test_only_the_nodes_that_are_named_count() -> None:
    answer = scorer(fleet()).scored(gpu_fleet.asking(4), ["seven", "empty"])
    assert answer == Scored({"seven": 10, "empty": 1}, best="seven")
    assert scorer(fleet()).scored(gpu_fleet.asking(4), ["bare"]) == Scored({"bare": 0}, best=None)


def test_what_was_promised_to_a_node_counts() -> None:
    every = fleet()
    of = scorer(every)
    assert of.scored(gpu_fleet.asking(4), NAMES).best == "half"
    every.promise(Promise(gpu_fleet.asking(4), "half", until_seconds=30.0))
    assert of.scored(gpu_fleet.asking(4), NAMES).best == "seven"
    every.release("asks")
    assert of.scored(gpu_fleet.asking(4), NAMES).best == "half"


def test_a_node_where_the_order_decides_gives_way_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_safe(_memory: ShapeMemory, _of: ShapeVerdicts, _pod: Pod, name: str) -> bool:
        return name != "half"

    monkeypatch.setattr(ShapeMemory, "is_safe", is_safe)
    answer = scorer(fleet()).scored(gpu_fleet.asking(4), NAMES)
    points = {"bare": 0, "empty": 1, "half": 9, "seven": 10, "split": 0}
    assert answer == Scored(points, best="seven")


def test_nodes_for_which_there_was_no_time_have_no_points() -> None:
    every = ExpectedNodes()
    for number in range(40):
        name = f"n{number:02}"
        every.put(name, gpu_fleet.running(name, []))
    turns = count()
    of = scorer(every)
    late = of.scored(gpu_fleet.asking(1), [*every.nodes], lambda: next(turns) < 1)
    assert (late.best, late.unexamined) == ("n00", 8)
    assert [name for name, each in late.points.items() if not each] == [*every.nodes][32:]
    again = of.scored(gpu_fleet.asking(1), [*every.nodes])
    assert (again.unexamined, min(again.points.values())) == (0, 9)


def test_a_known_shape_costs_no_admission_and_a_changed_node_one() -> None:
    every = fleet()
    memory = ShapeMemory(every)
    of = NodeScorer(every, memory, Preference.PACK)
    of.scored(gpu_fleet.asking(2), NAMES)
    footprints = memory.of(gpu_fleet.pod("any", 2)).footprints
    before = footprints.admissions
    of.scored(gpu_fleet.asking(2), NAMES)
    assert footprints.admissions == before == 4
    every.put("empty", gpu_fleet.running("empty", [gpu_fleet.pod("x", 3)]))
    of.scored(gpu_fleet.asking(2), NAMES)
    assert footprints.admissions == before + 1


def test_a_pod_of_which_no_kubelet_has_an_opinion_is_left_to_the_scheduler() -> None:
    plain = replace(gpu_fleet.pod("plain", cpus=1, gib=1), qos_class=QosClass.BURSTABLE)
    (only,) = plain.app_containers
    asks = ClusterPod(pod=replace(plain, app_containers=(replace(only, limits={}),)))
    every = fleet()
    assert scorer(every).scored(asks, NAMES) == Scored(dict.fromkeys(NAMES, 0), best=None)


def test_nodes_are_ranked_in_advance_once_points_were_asked_for() -> None:
    every, four, two = fleet(), gpu_fleet.asking(4), gpu_fleet.asking(2)
    memory = ShapeMemory(every)
    of = NodeScorer(every, memory, Preference.PACK)
    known = memory.of(two.pod)
    memory.decide(known, every.nodes, lambda: True)
    assert (of.prepare(two, lambda: True), known.ranks) == (True, {})
    of.scored(four, NAMES)
    assert not of.prepare(two, lambda: False)
    assert of.prepare(two, lambda: True)
    assert known.ranks.keys() == {"empty", "half", "seven", "split"}
    before = known.footprints.admissions
    of.scored(two, NAMES)
    assert known.footprints.admissions == before
