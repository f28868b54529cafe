"""Sets of victims that help a pod, and those that do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import ClusterPod, Controller, DisruptionBudget
from numalet.core.model.pod import Pod, QosClass
from numalet.insight.scheduling import preempting
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import FilterRules, NodeFilter
from numalet.insight.scheduling.preempting import Preempted, RunningPods, VictimSet
from values import gpu_fleet

FOUR = ClusterPod(pod=gpu_fleet.pod("asks", 4, priority=10))


def pair(uid: str, priority: int = 0) -> Pod:
    return gpu_fleet.pod(uid, 2, priority=priority)


FULL = [pair("a"), pair("b"), pair("c"), pair("d")]
"""The first two are on NUMA node 0, the others on NUMA node 1."""


DEFAULT, NOT_KNOWN = FilterRules(), RunningPods()


def answers(
    rules: FilterRules = DEFAULT, pods: Mapping[str, Iterable[Pod]] = {"n": FULL}
) -> NodeFilter:
    nodes = ExpectedNodes()
    for name, listed in pods.items():
        nodes.put(name, gpu_fleet.running(name, listed))
    return NodeFilter(nodes, rules)


def known(pods: Iterable[Pod], name: str = "n") -> dict[str, ClusterPod]:
    owner = Controller("ReplicaSet", "r")
    return {
        each.uid: ClusterPod(pod=replace(each, node_name=name), controller=owner) for each in pods
    }


def asked(
    *uids: str,
    running: RunningPods = NOT_KNOWN,
    pods: Iterable[Pod] = FULL,
    pod: ClusterPod = FOUR,
) -> Preempted:
    sets = {"n": VictimSet(uids, 1)}
    return preempting.preempted(answers(pods={"n": pods}), pod, sets, running)


def test_a_set_that_frees_an_aligned_place_stays_as_it_is() -> None:
    assert asked("b", "a") == Preempted(sets={"n": VictimSet(("b", "a"), 1)})


def test_a_set_that_frees_no_aligned_place_is_dropped() -> None:
    assert asked("a", "c") == Preempted(sets={}, useless=("n",))
    assert asked("of no one").useless == ("n",)


def test_a_pod_on_which_there_is_no_opinion_is_answered_at_once() -> None:
    plain = replace(FOUR, pod=Pod(uid="p", name="p", qos_class=QosClass.BEST_EFFORT))
    assert asked("a", pod=plain).sets == {"n": VictimSet(("a",), 1)}


@pytest.mark.parametrize("passes", [True, False])
def test_nodes_without_a_decision_stay_or_go_as_configured(passes: bool) -> None:
    given = {"unknown": VictimSet(("x",))}
    of = answers(FilterRules(passes_unknown=passes))
    assert {*preempting.preempted(of, FOUR, given, RunningPods()).sets} == (
        {"unknown"} if passes else set()
    )
    of, given = answers(FilterRules(passes_unexamined=passes)), {"n": VictimSet(("a", "c"))}
    late = preempting.preempted(of, FOUR, given, RunningPods(), lambda: False)
    assert late == Preempted(sets=given if passes else {}, unexamined=1)


def test_nothing_is_evicted_on_a_node_that_is_left_alone() -> None:
    of, given = answers(), {"n": VictimSet(("a", "b"))}
    of.was_refused(FOUR.pod, "n", 0.0)
    assert preempting.preempted(of, FOUR, given, RunningPods(), now_seconds=9.0).sets == {}
    assert preempting.preempted(of, FOUR, given, RunningPods(), now_seconds=10.0).sets == given


def test_the_fewest_are_added_that_help() -> None:
    every = RunningPods(pods=known(FULL))
    answer = asked("a", "c", running=every)
    assert answer == Preempted(sets={"n": VictimSet(("a", "c", "b"), 1)}, enlarged=("n",))


def test_a_set_of_several_is_added_where_one_does_not_help() -> None:
    singles = [gpu_fleet.pod(uid, 1) for uid in "abcdefgh"]
    answer = asked("a", "b", pods=singles, running=RunningPods(pods=known(singles)))
    assert answer.sets == {"n": VictimSet(("a", "b", "c", "d"), 1)}


def test_of_those_that_help_the_one_with_the_lowest_priority_is_added() -> None:
    pods = [pair("a"), pair("b", 5), pair("c", 7), pair("d", 3)]
    answer = asked("c", "a", pods=pods, running=RunningPods(pods=known(pods)))
    # The highest priority comes first.
    assert answer.sets == {"n": VictimSet(("c", "d", "a"), 1)}


def kept(**changes: object) -> dict[str, ClusterPod]:
    """All pods, where those that could be added are changed."""
    every = known(FULL)
    return every | {uid: replace(every[uid], **changes) for uid in "bd"}  # type: ignore[arg-type]


def with_pod(**changes: object) -> dict[str, ClusterPod]:
    every = known(FULL)
    changed = {uid: replace(every[uid].pod, **changes) for uid in "bd"}  # type: ignore[arg-type]
    return every | {uid: replace(every[uid], pod=pod) for uid, pod in changed.items()}


NEVER_ADDED = {
    "unknown": {uid: each for uid, each in known(FULL).items() if uid in "ac"},
    "on another node": with_pod(node_name="m"),
    "of the same priority": with_pod(priority=10),
    "static": with_pod(is_static=True),
    "over": with_pod(phase="Failed"),
    "of a DaemonSet": kept(controller=Controller("DaemonSet", "d")),
    "going anyway": kept(is_being_deleted=True),
}


@pytest.mark.parametrize("which", NEVER_ADDED)
def test_pods_that_are_never_added(which: str) -> None:
    assert asked("a", "c", running=RunningPods(pods=NEVER_ADDED[which])).useless == ("n",)


def test_pods_with_a_disruption_budget_are_never_added() -> None:
    budget = DisruptionBudget(
        namespace="default", name="b", allowed=5, pod_uids=frozenset({"b", "d"})
    )
    running = RunningPods(pods=known(FULL), budgets=[budget])
    assert asked("a", "c", running=running).useless == ("n",)


def test_nothing_is_added_where_all_would_not_help() -> None:
    eight = ClusterPod(pod=gpu_fleet.pod("asks", 8, priority=10))
    assert asked("a", running=RunningPods(pods=known(FULL)), pod=eight).useless == ("n",)


def test_where_many_have_to_be_added_any_small_set_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preempting, "MOST_ADDED", 0)
    answer = asked("a", "c", running=RunningPods(pods=known(FULL)))
    assert {*answer.sets["n"].uids} in ({"a", "c", "b"}, {"a", "c", "d"})


def test_sets_are_not_looked_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preempting, "MOST_SETS", 0)
    assert asked("a", "c", running=RunningPods(pods=known(FULL))).useless == ("n",)
