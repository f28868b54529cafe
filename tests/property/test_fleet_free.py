"""The smallest set of pods that must go is the one that trying every set gives."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import pytest

from numalet.core.cluster.cluster import (
    Cluster,
    ClusterNode,
    ClusterPod,
    Controller,
    DisruptionBudget,
    Origin,
)
from numalet.core.model.node_constraints import HostPort, NodeConstraints
from numalet.core.model.pod import Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.insight.fleet import evicting
from numalet.insight.fleet.evicting import Outcome, Proof
from values import node_states, random_nodes

NODES = 1_000
MOST_PODS = 7
KINDS = ("ReplicaSet", "ReplicaSet", "Job", "DaemonSet", "Node", None)


def _case(rng: random.Random) -> tuple[Cluster, Pod]:
    """A node of 1 to 3 NUMA nodes with up to 7 pods, and a pod that wants in."""
    life = node_states.any_life(rng.randint(1, 3), rng)
    node = node_states.fragmented(life, rng)
    for uid in list(node.snapshot.pods)[MOST_PODS:]:
        node = node.remove(uid)
    node = _with_small_pods(node.release_stale(), rng)
    pods = {}
    for uid, pod in node.snapshot.pods.items():
        kind = rng.choice(KINDS)
        pods[uid] = ClusterPod(
            pod=replace(pod, priority=rng.choice((None, 0, 5, 10)), node_name="n"),
            controller=None if kind is None else Controller(kind, f"of-{uid}"),
            is_being_deleted=rng.random() < 0.05,
        )
    budgets = tuple(
        DisruptionBudget(
            namespace="default",
            name=f"b{at}",
            allowed=rng.randint(0, 2),
            pod_uids=frozenset(uid for uid in pods if rng.random() < 0.4),
        )
        for at in range(rng.randint(0, 2))
    )
    on = ClusterNode(name="n", node=node, origin=Origin.DESCRIBED, class_name="c")
    arriving = node_states.pod("new", life, rng, rng.randint(1, 5), large=0.6)
    ports = NodeConstraints(ports=(HostPort(80),)) if rng.random() < 0.2 else arriving.constraints
    arriving = replace(arriving, priority=rng.choice((None, 5, 10, 20)), constraints=ports)
    return Cluster(nodes={"n": on}, pods=pods, budgets=budgets), arriving


def _with_small_pods(node: Node, rng: random.Random) -> Node:
    """The node with a few pods that hold nothing of their own, some with a port of the host."""
    for at in range(rng.randint(0, MOST_PODS - min(MOST_PODS, len(node.snapshot.pods)))):
        ports = (HostPort(80),) if rng.random() < 0.4 else ()
        first = Pod(
            uid=f"small-{at}",
            name=f"small-{at}",
            app_containers=(),
            qos_class=QosClass.BURSTABLE,
            constraints=NodeConstraints(ports=ports),
        )
        amounts = {"cpu": rng.choice(("100m", "2", "4"))}
        other = node_states.guaranteed("x", amounts).app_containers[0]
        small = replace(first, app_containers=(replace(other, limits={}),))
        node, _ = node.admit(small)
    return node


def _may_go(cluster: Cluster, known: ClusterPod, pod: Pod) -> bool:
    kind = "" if known.controller is None else known.controller.kind
    guards = [each for each in cluster.budgets if known.pod.uid in each.pod_uids]
    return (
        kind not in ("DaemonSet", "Node")
        and (known.pod.priority or 0) <= (pod.priority or 0)
        and len(guards) < 2
    )


def _keeps_budgets(cluster: Cluster, gone: Sequence[ClusterPod]) -> bool:
    return all(
        sum(1 for known in gone if known.pod.uid in each.pod_uids) <= each.allowed
        for each in cluster.budgets
    )


def _cost(gone: Sequence[ClusterPod]) -> tuple[object, ...]:
    """Priorities from the highest down, pods without owner, devices, CPU, memory, names."""
    asked = [(name, amount) for each in gone for name, amount in _asked(each.pod)]
    return (
        sorted((each.pod.priority or 0 for each in gone), reverse=True),
        sum(1 for each in gone if each.controller is None),
        sum(amount.value for name, amount in asked if "/" in name),
        sum(amount.milli_value for name, amount in asked if name == "cpu"),
        sum(amount.value for name, amount in asked if name == "memory" or "hugepages" in name),
        tuple(sorted((str(each.pod), each.pod.uid) for each in gone)),
    )


def _asked(pod: Pod) -> Iterator[tuple[str, Quantity]]:
    for container in pod.app_containers:
        yield from container.requests.items()


def _by_force(cluster: Cluster, pod: Pod) -> tuple[str, ...] | None:
    """The cheapest of the smallest sets, out of all sets."""
    node = cluster.nodes["n"].node
    for uid, known in cluster.pods.items():
        if known.is_being_deleted:
            node = node.remove(uid)
    staying = [each for each in cluster.pods.values() if not each.is_being_deleted]
    able = [each for each in staying if _may_go(cluster, each, pod)]
    for size in range(len(able) + 1):
        working = []
        for gone in combinations(able, size):
            after = node
            for each in gone:
                after = after.remove(each.pod.uid)
            if _keeps_budgets(cluster, gone) and after.fits(pod):
                working.append(gone)
        if working:
            return tuple(sorted(each.pod.uid for each in min(working, key=_cost)))
    return None


def _with_other_uids(cluster: Cluster, name: str) -> Cluster:
    """The same cluster, whose node is of this name and whose pods have uids of their own."""
    prefix = f"{name}-"
    on = cluster.nodes["n"]
    pods = {
        f"{prefix}{uid}": replace(each, pod=replace(each.pod, uid=f"{prefix}{uid}"))
        for uid, each in cluster.pods.items()
    }
    budgets = tuple(
        replace(each, pod_uids=frozenset(f"{prefix}{uid}" for uid in each.pod_uids))
        for each in cluster.budgets
    )
    node = random_nodes.with_other_uids(on.node, prefix)
    return Cluster(nodes={name: replace(on, name=name, node=node)}, pods=pods, budgets=budgets)


def _joined(clusters: Sequence[Cluster]) -> Cluster:
    return Cluster(
        nodes={name: on for each in clusters for name, on in each.nodes.items()},
        pods={uid: pod for each in clusters for uid, pod in each.pods.items()},
        budgets=tuple(budget for each in clusters for budget in each.budgets),
    )


@pytest.mark.property
@pytest.mark.parametrize("part", range(2))
def test_each_node_among_others_has_the_answer_that_it_has_alone(part: int) -> None:
    """What is known of nodes in the same state changes no answer, and no more sets are tried."""
    rng = random.Random(f"alike-{part}")
    tried = tried_alone = 0
    for _ in range(10):
        case, pod = _case(rng)
        apart = [_with_other_uids(case, "a"), _with_other_uids(case, "b")]
        apart.append(_with_other_uids(_case(rng)[0], "c"))
        asked, every = ClusterPod(pod=pod), evicting.FreeQuestion(every_node=True)
        together = evicting.free(_joined(apart), asked, every)
        of_node = {each.name: each for each in together.nodes}
        tried += together.sets_tried
        for each in apart:
            alone = evicting.free(each, asked, every)
            (expected,) = alone.nodes
            actual = of_node[expected.name]
            assert (actual.outcome, actual.proof, actual.going, actual.cost, actual.kept) == (
                expected.outcome,
                expected.proof,
                expected.going,
                expected.cost,
                expected.kept,
            )
            tried_alone += alone.sets_tried
    assert 0 < tried <= tried_alone


@pytest.mark.property
@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_the_smallest_set_is_that_of_trying_every_set(part: int) -> None:
    rng = random.Random(f"free-{part}")
    sizes: dict[int | None, int] = {}
    for _ in range(NODES // 10):
        cluster, pod = _case(rng)
        answer = evicting.free(cluster, ClusterPod(pod=pod)).nodes[0]
        expected = _by_force(cluster, pod)
        actual = tuple(sorted(each.pod.uid for each in answer.going))
        assert answer.proof is Proof.SMALLEST
        if expected is None:
            assert (answer.outcome, actual) == (Outcome.NO_SET, ())
        else:
            assert (answer.outcome, actual) == (Outcome.MAKES_ROOM, expected)
            assert answer.decision is not None
            assert answer.decision.admitted
        size = None if expected is None else len(expected)
        sizes[size] = sizes.get(size, 0) + 1
    assert sizes.keys() >= {None, 0, 1}, "the nodes drawn are too much alike"
