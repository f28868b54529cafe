"""Where the pods that must go run instead."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod
from numalet.core.model.pod import Pod
from numalet.insight.fleet import moves
from numalet.insight.fleet.evicting import FreeQuestion, free
from numalet.insight.fleet.moves import EvictionStep, MovePlan
from values import gpu_fleet


def _plan(cluster: Cluster, pod: Pod, on: str = "") -> MovePlan | None:
    """The plan for the pod on any node, or on the one that is named."""
    only = frozenset(name for name in cluster.nodes if name.startswith(on))
    return moves.plan(cluster, free(cluster, ClusterPod(pod=pod), FreeQuestion(only=only)))


def _shown(plan: MovePlan | None) -> list[str]:
    assert plan is not None
    return [
        f"{'-' if isinstance(each, EvictionStep) else '+'}{each.pod.pod.uid}@{each.node_name}"
        for each in plan.steps
    ]


def _fragmented(name: str) -> ClusterNode:
    pods = [gpu_fleet.pod(f"{name}-{uid}", 2) for uid in "abcd"]
    return gpu_fleet.running(name, pods, gone=(f"{name}-a", f"{name}-c"))


def test_a_pod_moves_to_another_node_before_the_new_one_comes() -> None:
    busy = gpu_fleet.running("m", [gpu_fleet.pod("x", 4), gpu_fleet.pod("y", 2)])
    plan = _plan(gpu_fleet.cluster([_fragmented("n"), busy]), gpu_fleet.pod("big", 4), "n")
    assert _shown(plan) == ["-n-b@n", "+n-b@m", "+big@n"]
    assert plan is not None
    assert plan.homeless == ()
    assert not plan.is_bounded


def test_a_pod_moves_to_the_other_numa_node_once_the_new_one_is_there() -> None:
    plan = _plan(gpu_fleet.cluster([_fragmented("n")]), gpu_fleet.pod("big", 4))
    assert _shown(plan) == ["-n-b@n", "+big@n", "+n-b@n"]


def test_a_pod_that_fits_nowhere_is_homeless() -> None:
    full = gpu_fleet.running("n", [gpu_fleet.pod("a", 4), gpu_fleet.pod("b", 4)])
    plan = _plan(gpu_fleet.cluster([full]), gpu_fleet.pod("big", 4))
    assert _shown(plan) == ["-a@n", "+big@n"]
    assert plan is not None
    assert [each.pod.uid for each in plan.homeless] == ["a"]


def test_a_node_whose_pods_find_a_place_is_planned_for_first() -> None:
    cheap = gpu_fleet.running("a", [gpu_fleet.pod(f"a{at}", 4, cpus=8) for at in range(2)])
    nodes = [cheap, _fragmented("n"), _fragmented("o")]
    plan = _plan(gpu_fleet.cluster(nodes), gpu_fleet.pod("big", 4))
    assert _shown(plan) == ["-n-b@n", "+n-b@o", "+big@n"]


def test_two_pods_do_not_move_into_one_hole() -> None:
    full = gpu_fleet.running("n", [gpu_fleet.pod(uid, 2) for uid in "abcd"])
    one = [
        gpu_fleet.running(name, [gpu_fleet.pod(f"{name}1", 4), gpu_fleet.pod(f"{name}2", 2)])
        for name in "op"
    ]
    plan = _plan(gpu_fleet.cluster([full, *one]), gpu_fleet.pod("big", 4), "n")
    assert _shown(plan) == ["-b@n", "+b@o", "-a@n", "+a@p", "+big@n"]


def test_a_better_partial_plan_is_kept() -> None:
    full = gpu_fleet.running("n", [gpu_fleet.pod(uid, 2) for uid in "abcd"])
    hole = gpu_fleet.running("o", [gpu_fleet.pod("x", 4), gpu_fleet.pod("y", 2)])
    plan = _plan(gpu_fleet.cluster([full, hole]), gpu_fleet.pod("big", 4), "n")
    assert plan is not None
    assert [each.pod.uid for each in plan.homeless] == ["a"]


def test_a_node_on_which_the_pod_may_not_run_is_no_place() -> None:
    closed = replace(_fragmented("m"), is_cordoned=True)
    plan = _plan(gpu_fleet.cluster([_fragmented("n"), closed]), gpu_fleet.pod("big", 4))
    assert _shown(plan) == ["-n-b@n", "+big@n", "+n-b@n"]


def test_without_a_node_there_is_no_plan() -> None:
    assert _plan(gpu_fleet.cluster([_fragmented("n")]), gpu_fleet.pod("whole", 8)) is None


def test_a_plan_that_asks_too_much_says_so() -> None:
    full = gpu_fleet.running("n", [gpu_fleet.pod(uid, 2) for uid in "abcd"])
    cluster = gpu_fleet.cluster([full, _fragmented("m")])
    question = FreeQuestion(only=frozenset({"n"}))
    answer = free(cluster, ClusterPod(pod=gpu_fleet.pod("big", 4)), question)
    plan = moves.plan(cluster, answer, most_admissions=0)
    assert plan is not None
    assert plan.is_bounded
    assert len(plan.homeless) == 2


def test_the_first_of_equal_plans_is_kept() -> None:
    full = [
        gpu_fleet.running(name, [gpu_fleet.pod(f"{name}1", 4), gpu_fleet.pod(f"{name}2", 4)])
        for name in "no"
    ]
    plan = _plan(gpu_fleet.cluster(full), gpu_fleet.pod("big", 4))
    assert _shown(plan) == ["-n1@n", "+big@n"]


def test_room_by_the_sums_alone_is_no_place() -> None:
    full = gpu_fleet.running("n", [gpu_fleet.pod("a", 4), gpu_fleet.pod("b", 4)])
    plan = _plan(gpu_fleet.cluster([full, _fragmented("m")]), gpu_fleet.pod("big", 4), "n")
    assert _shown(plan) == ["-a@n", "+big@n"]
