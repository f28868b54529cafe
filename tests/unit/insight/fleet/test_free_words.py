"""What must go so that a pod fits, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, DisruptionBudget
from numalet.core.model.pod import Pod
from numalet.insight.fleet import free_words, moves
from numalet.insight.fleet.evicting import DEFAULT_QUESTION, FreeAnswer, FreeQuestion, free
from values import gpu_fleet

BIG = gpu_fleet.pod("big", 4)


def _fragmented(name: str = "n") -> ClusterNode:
    """2 GPUs free on each NUMA node, held by ``b`` and ``d``."""
    pods = [gpu_fleet.pod(f"{name}-{uid}", 2) for uid in "abcd"]
    return gpu_fleet.running(name, pods, gone=(f"{name}-a", f"{name}-c"))


def _free(cluster: Cluster, pod: Pod, question: FreeQuestion = DEFAULT_QUESTION) -> FreeAnswer:
    return free(cluster, ClusterPod(pod=pod), question)


@pytest.mark.parametrize(
    ("cluster", "pod", "verdict", "proof"),
    [
        (gpu_fleet.cluster([_fragmented()]), BIG, "1 pod must go on n", "Proved smallest"),
        (gpu_fleet.cluster([gpu_fleet.running("n", [])]), BIG,
         "there is room on n; nothing must go", ""),
        (gpu_fleet.cluster([_fragmented()]), gpu_fleet.pod("whole", 8), "never fits: ", ""),
        (gpu_fleet.cluster([_fragmented()]), gpu_fleet.pod("low", 4, priority=-1),
         "no set of pods that may go makes room", ""),
    ],
)  # fmt: skip
def test_the_verdict_is_one_sentence(cluster: Cluster, pod: Pod, verdict: str, proof: str) -> None:
    answer = _free(cluster, pod)
    assert free_words.verdict("train", answer).startswith(f"train: {verdict}")
    assert free_words.proof(answer).startswith(proof)
    assert bool(proof) == bool(free_words.proof(answer))


def test_a_bounded_search_says_that_it_proves_nothing() -> None:
    held = [gpu_fleet.pod(f"p{at}", 1) for at in range(8)]
    answer = _free(
        gpu_fleet.cluster([gpu_fleet.running("n", held)]), BIG, FreeQuestion(most_sets=1)
    )
    assert free_words.proof(answer).startswith("Not proved smallest")


def test_other_nodes_are_counted_by_what_is_true_of_them() -> None:
    small = gpu_fleet.running("small", [gpu_fleet.pod(f"s{at}", 1) for at in range(8)])
    low = gpu_fleet.pod("new", 4, priority=5)
    high = gpu_fleet.running("high", [gpu_fleet.pod(f"h{at}", 4, priority=9) for at in range(2)])
    away = replace(gpu_fleet.running("away", []), is_cordoned=True)
    cluster = gpu_fleet.cluster([_fragmented("n"), _fragmented("o"), small, high, away])
    assert free_words.other_nodes(_free(cluster, low)) == {
        "1 pod must go": ["o"],
        "more must go": ["small"],
        "nothing that may go makes room (kept: higher-priority)": ["high"],
        "the scheduler would not send it there: 'numalet fleet fit' says why": [""],
    }
    whole = free_words.other_nodes(_free(cluster, gpu_fleet.pod("whole", 8, priority=5)))
    assert any(each.startswith("never fits: ") for each in whole)


def test_a_bounded_search_is_named_at_each_node() -> None:
    none = FreeQuestion(most_sets=0)
    held = {name: [gpu_fleet.pod(f"{name}{at}", 1) for at in range(8)] for name in "no"}
    cluster = gpu_fleet.cluster([gpu_fleet.running(name, pods) for name, pods in held.items()])
    bounded = free_words.other_nodes(_free(cluster, BIG, none))
    assert bounded == {"4 pods must go, not proved smallest": ["o"]}
    uids = frozenset(each.uid for pods in held.values() for each in pods)
    guard = DisruptionBudget(namespace="default", name="guard", allowed=3, pod_uids=uids)
    guarded = replace(cluster, budgets=(guard,))
    undecided = free_words.other_nodes(_free(guarded, BIG, none))
    assert undecided == {"not decided: the search was bounded": ["n", "o"]}


def test_steps_say_what_the_pod_gets_and_who_finds_no_place() -> None:
    full = gpu_fleet.running("n", [gpu_fleet.pod("a", 4), gpu_fleet.pod("b", 4)])
    cluster = gpu_fleet.cluster([full])
    plan = moves.plan(cluster, _free(cluster, BIG))
    assert plan is not None
    (go, nothing), (come, gets) = map(free_words.of_step, plan.steps)
    assert (go, nothing, come) == ("evict", "", "admit")
    assert gets.startswith("nvidia.com/gpu gpu0")
    assert "; CPUs " in gets
    assert free_words.homeless(plan) == "No node admits, before or after: default/a"
    assert free_words.homeless(replace(plan, homeless=())) == ""
    bounded = replace(plan, homeless=plan.homeless * 5, is_bounded=True)
    assert free_words.homeless(bounded).endswith(
        "(the search was bounded): default/a, default/a, default/a and 2 more"
    )
    assert free_words.gets({}) == "only shared resources"
