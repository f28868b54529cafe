"""What an owner is informed of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from numalet.core.cluster.cluster import Cluster, ClusterNode, Taint, TaintEffect, UndecidedNode
from numalet.core.findings.cluster import ClusterNodeWithoutClass
from numalet.core.model.quantity import Quantity
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.rejections import informing, rejected_pod
from numalet.insight.rejections.actions import Action, Inform
from numalet.insight.rejections.informing import Explained, Informed
from numalet.insight.rejections.rejected_pod import OwnerLink, TopOwner
from numalet.insight.rejections.rules import BreakerRules
from numalet.insight.rejections.shape_questions import ShapeQuestions
from values import gpu_fleet
from values.pod_storms import (
    DEPLOYMENT,
    START,
    USUAL,
    big,
    facts,
    full,
    marked,
    node_map,
    plan,
    rejection,
    roomy,
    split,
)

PODS = [rejection(f"p{at}", at_seconds=START - at) for at in range(5)]


def explained(nodes: Iterable[ClusterNode], undecided: int = 0, gpus: int = 4) -> Explained:
    finding = ClusterNodeWithoutClass(node="u")
    cluster = Cluster(
        nodes=node_map(nodes),
        undecided={f"u{at}": UndecidedNode(name=f"u{at}", why=finding) for at in range(undecided)},
    )
    pod = replace(big(), pod=gpu_fleet.pod("asks", gpus))
    return informing.explained(ShapeQuestions(cluster, Assessor(), {}), pod)


def events(actions: Iterable[Action]) -> list[Inform]:
    return [each for each in actions if isinstance(each, Inform)]


def test_the_reasons_are_counted_and_the_smallest_change_is_named() -> None:
    answer = explained([split("t0"), split("t1"), full("f0")], undecided=1)
    assert answer.text == (
        "0 of 4 nodes would admit such a pod now (2 nodes: 4 of nvidia.com/gpu free, 2 on each "
        "NUMA node; 1 node: 0 of nvidia.com/gpu free; 1 node: too little is known). It would be "
        "admitted if main asked for 2 of nvidia.com/gpu instead of 4."
    )
    assert answer.cause == {
        "4 of nvidia.com/gpu free, 2 on each NUMA node",
        "0 of nvidia.com/gpu free",
        "too little is known",
    }


def test_where_there_is_room_nothing_has_to_change() -> None:
    assert explained([roomy("r0")]).text == "1 of 1 node would admit such a pod now."


def test_the_breakers_own_taint_is_not_the_reason() -> None:
    trap = marked(split("t0"), START + 300, "0123456789")
    answer = explained([trap])
    assert "2 on each NUMA node" in answer.text
    assert "2 of nvidia.com/gpu instead of 4" in answer.text
    there = marked(roomy("r0"), START + 300, "0123456789")
    assert "taint numalet.dev/trap" in explained([there]).text


def test_other_taints_are_the_reason_and_such_nodes_are_not_searched() -> None:
    taint = Taint("maintenance", "", TaintEffect.NO_SCHEDULE)
    answer = explained([replace(split("t0"), taints=(taint,))])
    assert answer.text == (
        "0 of 1 node would admit such a pod now (1 node: taint maintenance:NoSchedule, which the "
        "pod does not tolerate)."
    )


def test_of_many_reasons_the_most_frequent_are_said() -> None:
    taints = [Taint(f"t{at}", "", TaintEffect.NO_SCHEDULE) for at in range(6)]
    answer = explained([replace(full(each.key), taints=(each,)) for each in taints])
    assert "2 nodes: other reasons" in answer.text
    assert len(answer.cause) == 6


def test_a_few_states_are_searched_for_the_best_change() -> None:
    nodes = [split("t0"), *[_with_free(f"n{at}", at) for at in range(1, 5)]]
    answer = explained(nodes)
    assert answer.text.endswith("admitted if main asked for 3 of nvidia.com/gpu instead of 4.")


def test_the_container_that_asks_for_most_is_the_one_that_has_to_ask_for_less() -> None:
    amounts = {f"example.com/d{at}": Quantity.from_int(1) for at in range(14)}
    asked = gpu_fleet.pod("asks", 4)
    (main,) = asked.app_containers
    side = replace(main, name="side", requests={}, limits={})
    small = {name: Quantity.from_int(1) for name in ("cpu", "memory")}
    helper = replace(main, name="helper", requests=small, limits=small)
    many = replace(main, requests={**main.requests, **amounts}, limits={**main.limits, **amounts})
    pod = replace(asked, app_containers=(main, side, helper))
    questions = ShapeQuestions(Cluster(nodes=node_map([split("t0")])), Assessor(), {})
    answer = informing.explained(questions, replace(big(), pod=pod))
    assert answer.text.endswith("if main asked for 2 of nvidia.com/gpu instead of 4.")
    # With so many resources not all of them are searched: those of devices come first.
    wide = replace(asked, app_containers=(many,))
    trap = marked(split("t0"), START, "0123456789")
    questions = ShapeQuestions(Cluster(nodes=node_map([trap])), Assessor(), {})
    answer = informing.explained(questions, replace(big(), pod=wide))
    assert "It would be admitted" not in answer.text


def _with_free(name: str, cpus: int) -> ClusterNode:
    """Three GPUs free on one NUMA node, one on the other, and so many CPUs less."""
    first = gpu_fleet.running(
        name, [gpu_fleet.pod(f"{name}-a", 4), gpu_fleet.pod(f"{name}-b", 3)], gone=[f"{name}-a"]
    )
    pods = [gpu_fleet.pod(f"{name}-c", 1, 2 * cpus, 1)]
    return replace(gpu_fleet.running(name, pods, on=first.node), labels=roomy(name).labels)


def test_an_owner_is_informed_of_one_cause_once_an_hour() -> None:
    given = facts([split("n0")])
    state, actions = plan(PODS, given)
    (event,) = events(actions)
    assert event.about == DEPLOYMENT
    assert event.target == "Deployment default/web"
    assert event.why.startswith("5 pods rejected within 60 s, TopologyAffinityError. 0 of 1 node")
    for seconds, count in ((30.0, 0), (61.0, 0), (3599.0, 0), (3601.0, 1)):
        again = [rejection(f"{seconds}-{at}", at_seconds=START + seconds) for at in range(5)]
        state, actions = plan(again, given, START + seconds, before=state)
        assert len(events(actions)) == count


def test_another_cause_is_said_sooner_but_not_within_the_window() -> None:
    state, _ = plan(PODS, facts([split("n0")]))
    other = facts([split("n0"), full("n1")])
    for seconds, count in ((59.0, 0), (61.0, 1)):
        again = [rejection(f"{seconds}-{at}", at_seconds=START + seconds) for at in range(5)]
        state, actions = plan(again, other, START + seconds, before=state)
        assert len(events(actions)) == count


def test_what_was_said_in_a_future_that_a_clock_took_back_counts_no_more() -> None:
    known = Informed(START + 7200, frozenset())
    assert known.is_due(START, USUAL)
    assert known.is_old(START, USUAL)


def test_the_event_of_pods_known_by_labels_or_by_themselves_is_about_the_newest() -> None:
    bare = [rejection(f"p{at}", at_seconds=START + at, chain=()) for at in range(3)]
    what = Explained(frozenset(), "No.")
    event = informing.event(bare, 3, what, "", USUAL)
    assert event.about == OwnerLink("v1", "Pod", "default", "p2", "p2")
    labelled = [replace(each, owner=TopOwner("labels", "default", "app=x")) for each in bare]
    event = informing.event(labelled, 3, what, "", USUAL)
    assert event.about.name == "p2"
    assert event.why == "3 pods rejected within 60 s, TopologyAffinityError. No."


def test_a_text_that_is_too_long_for_an_event_is_cut() -> None:
    what = Explained(frozenset(), "x" * 2000)
    event = informing.event(PODS, 5, what, "", BreakerRules())
    assert len(event.why) == informing.MOST_CHARACTERS
    assert event.why.endswith("x…")


def test_the_shape_of_the_event_is_that_of_the_pods() -> None:
    what = Explained(frozenset(), "No.")
    assert informing.event(PODS, 5, what, "", USUAL).shape == rejected_pod.shape_digest(big())
