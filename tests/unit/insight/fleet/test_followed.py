"""A cluster that changes in parts is answered about in parts, as if it were asked about anew."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import Cluster, ClusterPod, Controller
from numalet.insight.fleet import fit, traps
from numalet.insight.fleet.asked_shapes import ShapeCounts
from numalet.insight.fleet.assessing import Assessor, NodeDifferences, NodeMemo, difference
from numalet.insight.fleet.traps import TrapFinder
from values import gpu_fleet
from values.gpu_fleet import asking

DAEMON = Controller("DaemonSet", "d")


def lives(seed: str, steps: int = 16) -> list[Cluster]:
    """One cluster after the other: pods come and go, nodes come, go and are cordoned."""
    rng = random.Random(seed)
    cluster, every = gpu_fleet.cluster([gpu_fleet.running("n0", [])]), []
    for step in range(steps):
        nodes, pods = dict(cluster.nodes), dict(cluster.pods)
        match rng.randrange(6):
            case 0:
                nodes[f"n{step}"] = gpu_fleet.running(f"n{step}", [])
            case 1 if len(nodes) > 1:
                del nodes[rng.choice(sorted(nodes))]
            case 2:
                name = rng.choice(sorted(nodes))
                nodes[name] = replace(nodes[name], is_cordoned=not nodes[name].is_cordoned)
            case 3 if pods:
                del pods[rng.choice(sorted(pods))]
            case _:
                name = rng.choice(sorted(nodes))
                pod = gpu_fleet.pod(f"p{step}", rng.choice((1, 2, 4)))
                owner = DAEMON if rng.random() < 0.2 else None
                waits = ClusterPod(pod=replace(pod, name="same"), controller=owner)
                pods[pod.uid] = replace(waits, is_being_deleted=rng.random() < 0.2)
                node, decision = nodes[name].node.admit(pod)
                if decision.admitted:
                    nodes[name] = replace(nodes[name], node=node)
        cluster = replace(cluster, nodes=nodes, pods=pods)
        every.append(cluster)
    return every


@pytest.mark.parametrize("seed", ["a", "c"])
def test_what_is_remembered_changes_no_answer(seed: str) -> None:
    finder, own, counts = TrapFinder(), TrapFinder(), ShapeCounts()
    asked = [asking(4), asking(8), asking(4), asking(0, 2)]
    for cluster in lives(seed):
        assert finder.find(cluster, asked) == traps.traps(cluster, asked)
        assert counts.of(cluster.pods) == traps.shapes_of(cluster)
        counted = counts.of(cluster.pods)
        assert counts.of(cluster.pods) is counted
        assert counts.of(dict(cluster.pods)) is counted
        assert own.find(cluster) == traps.traps(cluster)
        for each in asked:
            whole = fit.fit(cluster, each, None).count
            assert finder.assessor.count(cluster, each, 1000) == whole
            assert finder.assessor.count(cluster, each, 3) == min(whole, 3)


def test_a_change_of_one_node_decides_one_node() -> None:
    cluster = gpu_fleet.cluster([gpu_fleet.running(f"n{at}", []) for at in range(20)])
    finder, assessor = TrapFinder(), Assessor()
    shape = asking(4)
    finder.find(cluster, [shape])
    assessor.count(cluster, shape, 1000)
    assert (finder.assessor.asked_nodes, assessor.asked_nodes) == (20, 20)
    table = assessor.verdicts.table(shape.pod)
    admissions = table.admissions
    pods = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    after = cluster.with_nodes([gpu_fleet.running("n7", pods, gone="ac")])
    (trap,) = finder.find(after, [shape]).traps
    assert trap.node == "n7"
    assert assessor.count(after, shape, 1000) == 19 * 2
    assert (finder.assessor.asked_nodes, assessor.asked_nodes) == (21, 21)
    assert table.admissions == admissions + 1
    finder.find(after, [shape])
    assert finder.assessor.asked_nodes == 21


def test_nodes_that_come_and_go_do_not_pile_up() -> None:
    assessor, shape = Assessor(), asking(4)
    node = gpu_fleet.running("n", [])
    for at in range(1100):
        assessor.count(Cluster(nodes={f"n{at}": replace(node, name=f"n{at}")}), shape, 1000)
    (memo,) = assessor._by_shape.values()
    assert len(memo.copies) < 1010
    assert len(memo.assessed.of({}, lambda _: {})) == 0


def test_a_difference_is_of_objects_and_found_once() -> None:
    one, two = gpu_fleet.running("one", []), gpu_fleet.running("two", [])
    before, now = {"one": one, "gone": two}, {"one": one, "two": two}
    found = difference(before, now)
    assert (found.changed, found.gone) == ({"two": two}, ("gone",))
    assert not difference(now, dict(now))
    differences = NodeDifferences()
    assert differences.between(before, now) is differences.between(before, now)
    memo: NodeMemo[int] = NodeMemo(differences)
    first = memo.of({"one": one}, lambda nodes: {each.name: 1 for each in nodes})
    second = memo.of({"two": two}, lambda nodes: {each.name: 2 for each in nodes})
    assert (first, second) == ({"one": 1}, {"two": 2})
    assert memo.of({"two": two}, lambda _: {}) is second
