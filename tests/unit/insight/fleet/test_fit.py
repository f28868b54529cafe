"""How many copies fit, where each lands, and why not elsewhere: the loudest users' fleet."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import (
    Cluster,
    ClusterNode,
    ClusterPod,
    Taint,
    TaintEffect,
    UndecidedNode,
)
from numalet.insight.fleet import fit, kube_scheduler, parts
from numalet.insight.fleet.assessing import Assessor, copy_of
from values import gpu_fleet
from values.gpu_fleet import GPU, asking, split_fleet
from values.made_up import MadeUp


def reasons(answer: fit.Fit) -> dict[str, tuple[str, ...]]:
    return {each.text: each.nodes for each in answer.left_out}


def admitted_in_turn(pod: ClusterPod, answer: fit.Fit, cluster: Cluster, after: Cluster) -> None:
    """Every landing is what the engine does with the copy on that node then."""
    nodes = {name: each.node for name, each in cluster.nodes.items()}
    for each in answer.landings:
        copy = copy_of(pod.pod, each.number)
        nodes[each.node], decision = nodes[each.node].admit(copy)
        assert decision.admitted
        assert parts.placements(decision.placements) == each.containers
    for name, node in nodes.items():
        assert node.snapshot == after.nodes[name].node.snapshot
        if answer.asked is None:
            assert not node.fits(pod.pod)


@pytest.mark.parametrize(("gpus", "count"), [(1, 23), (2, 11), (4, 4), (8, 0)])
def test_as_many_copies_as_the_engine_admits_one_after_the_other(gpus: int, count: int) -> None:
    answer, after = fit.place(split_fleet(), asking(gpus), None)
    assert answer.count == count
    admitted_in_turn(asking(gpus), answer, split_fleet(), after)
    each = Counter(landing.node for landing in answer.landings)
    assert fit.capacity(split_fleet(), asking(gpus)) == each


def test_copies_land_where_least_is_left() -> None:
    answer = fit.fit(split_fleet(), asking(2), 3)
    assert [each.node for each in answer.landings] == ["half", "half", "split"]
    assert [each.numa_nodes for each in answer.landings] == [(0,), (0,), (0,)]
    assert answer.landings[0].containers["main"].devices == {GPU: ("gpu0", "gpu1")}
    assert answer.fits
    assert answer.nodes_that_fit == ("empty", "half", "seven", "split")


def test_containers_on_different_numa_nodes_are_named() -> None:
    node = gpu_fleet.running("n", [], on=gpu_fleet.empty(scope="container"))
    for gpus, where, text in (
        (3, "main: 0; other: 1", "main on NUMA node 0, other on NUMA node 1"),
        (2, "0", "on NUMA node 0"),
    ):
        pod = gpu_fleet.pod("two", gpus, 2, 8)
        both = replace(
            pod,
            app_containers=(*pod.app_containers, replace(pod.app_containers[0], name="other")),
        )
        (landing,) = fit.fit(gpu_fleet.cluster([node]), ClusterPod(pod=both)).landings
        assert (landing.where, landing.sentence) == (where, f"a new pod fits on n, {text}")


def test_the_others_say_what_is_free_where() -> None:
    assert reasons(fit.fit(split_fleet(), asking(4))) == {
        f"4 of {GPU} free, 2 on each NUMA node": ("split",)
    }
    assert reasons(fit.fit(split_fleet(), asking(8))) == {
        f"8 of {GPU} never fit: no NUMA node has more than 4, and the policy is single-numa-node": (
            "empty",
            "half",
            "seven",
            "split",
        )
    }


def test_what_keeps_the_scheduler_away_is_said_first() -> None:
    there = split_fleet()
    taint = Taint("maintenance", "soon", TaintEffect.NO_SCHEDULE)
    changed: list[ClusterNode] = [
        replace(there.nodes["split"], is_cordoned=True),
        replace(there.nodes["half"], is_ready=False),
        replace(there.nodes["seven"], taints=(taint,)),
    ]
    cluster = replace(
        there.with_nodes(changed), undecided={"new": UndecidedNode(name="new", why=MadeUp())}
    )
    answer = fit.fit(cluster, asking(4), 3)
    assert reasons(answer) == {
        "cordoned": ("split",),
        "not ready": ("half",),
        "taint maintenance=soon:NoSchedule, which the pod does not tolerate": ("seven",),
        "not decided: made up": ("new",),
    }
    assert [each.node for each in answer.landings] == ["empty", "empty"]
    assert not answer.fits


def test_a_question_that_is_asked_again_admits_only_what_lands() -> None:
    assessor, cluster = Assessor(), split_fleet()
    first = fit.fit(cluster, asking(4), 1, assessor)
    table = assessor.verdicts.table(kube_scheduler.as_new(asking(4)).pod)
    before = table.admissions
    assert fit.fit(cluster, asking(4), 1, assessor) == first
    assert table.admissions == before


def test_shapes_come_one_after_the_other() -> None:
    answer = fit.fit_each(split_fleet(), [("a", asking(4), 4), ("b", asking(2), 2)])
    assert answer.origins.described == 4
    one, two = answer.shapes
    assert (one.count, two.count) == (4, 2)
    assert [each.node for each in two.landings] == ["seven", "split"]


def test_only_the_shapes_asked_about_last_are_remembered() -> None:
    assessor, cluster = Assessor(), split_fleet()
    for cpus in range(1, 70):
        assessor.assess(cluster, asking(0, cpus, 1))
    assert len(assessor._by_shape) == 64
