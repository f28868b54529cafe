"""Laws of the answers to a scheduler, over fleets of five kinds of nodes in three releases.

What is answered is what ``Node.admit`` says of each node as it is expected, whatever happened
before and in whatever order nodes are named.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.core.cluster import scheduler_sums
from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Controller, Origin
from numalet.core.config.releases import table
from numalet.core.model import pod_demand
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.node.node import Node
from numalet.insight.fleet import kube_scheduler, victims
from numalet.insight.scheduling import expected_nodes, preempting
from numalet.insight.scheduling.expected_nodes import ExpectedNodes, Promise
from numalet.insight.scheduling.filtering import Filtered, NodeFilter
from numalet.insight.scheduling.preempting import RunningPods, VictimSet
from values import random_nodes

pytestmark = pytest.mark.property

KINDS, RELEASES, NODES_OF_A_KIND = 5, 3, 4
SEEDS = st.integers(0, 1 << 32)


@dataclass
class Fleet:
    """Nodes to which things happen, and who answers about them."""

    rng: random.Random
    nodes: ExpectedNodes
    states: list[ClusterNode]
    """What a node may become, some for each name."""
    now_seconds: float = 0.0
    pods: int = 0

    def names(self) -> list[str]:
        """All names, and one of no node, in any order."""
        every = sorted({each.name for each in self.states} | {"unknown"})
        return self.rng.sample(every, len(every))

    def pod(self) -> ClusterPod:
        """A new pod of some shape."""
        self.pods += 1
        shape = random_nodes.shape(self.rng)
        return ClusterPod(pod=replace(shape, uid=f"new-{self.pods}", name=f"new-{self.pods}"))

    def change(self) -> None:
        """Something happens."""
        promised = sorted(self.nodes.promises)
        match self.rng.randrange(5):
            case 0:
                state = self.rng.choice(self.states)
                self.nodes.put(state.name, state)
            case 1:
                self.nodes.put(self.rng.choice(self.states).name, None)
            case 2 if promised:
                self.nodes.release(self.rng.choice(promised))
            case 3:
                self.now_seconds += self.rng.choice([1.0, 10.0])
                self.nodes.pass_time(self.now_seconds)
            case _:
                name = self.rng.choice(self.states).name
                until = self.now_seconds + self.rng.choice([5.0, 30.0])
                self.nodes.promise(Promise(self.pod(), name, until))


def fleet(seed: int) -> Fleet:
    """Nodes of five kinds, each in some states, and what a cluster knows of them."""
    rng = random.Random(seed)
    releases = rng.sample(list(table.RELEASES), RELEASES)
    states: list[ClusterNode] = []
    for kind in range(KINDS):
        setup = random_nodes.setup(rng)
        behaviour = replace(setup.behaviour, release=rng.choice(releases))
        gates = {**(setup.config.feature_gates or {})}
        gates.pop("PodLevelResourceManagers", None)
        setup = replace(
            setup, behaviour=behaviour, config=replace(setup.config, feature_gates=gates)
        )
        for at, node in enumerate(random_nodes.states(rng, setup, 2 * NODES_OF_A_KIND)):
            named = random_nodes.with_other_uids(node, f"{kind}-{at}-")
            states.append(_known(f"{kind}-{at % NODES_OF_A_KIND}", named))
    every = Fleet(rng, ExpectedNodes(), states)
    for state in states:
        every.nodes.put(state.name, state)
    return every


def _known(name: str, node: Node) -> ClusterNode:
    identity = replace(node.rules.identity, name=name)
    rules = replace(node.rules, identity=identity)
    return ClusterNode(
        name=name,
        node=replace(node, roster=replace(node.roster, rules=rules)),
        origin=Origin.DESCRIBED,
        class_name="",
        labels=identity.labels,
    )


def lived(seed: int, changes: int = 12) -> Iterator[tuple[Fleet, NodeFilter]]:
    """A fleet at some moments of its life, and one who answers about it all the time."""
    every = fleet(seed)
    answers = NodeFilter(every.nodes)
    for _ in range(3):
        for _ in range(changes):
            every.change()
        yield every, answers


def admits(node: Node, pod: Pod) -> bool:
    """What the engine says of the node by itself."""
    return node.without_plugins().admit(pod)[1].admitted


def in_any_order(answer: Filtered) -> tuple[object, ...]:
    return ({*answer.passed}, dict(answer.failed), dict(answer.unresolvable))


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_a_node_passes_if_its_kubelet_would_admit_the_pod(seed: int) -> None:
    for every, answers in lived(seed):
        for pod in (every.pod(), every.pod()):
            names = every.names()
            answer = answers.filtered(pod, names)
            known = every.nodes.nodes
            if expected_nodes.needs_decision(pod.pod):
                assert answer.passed == [
                    name for name in names if name not in known or admits(known[name].node, pod.pod)
                ]
            else:
                assert answer.passed == names
            assert {*answer.passed} | {*answer.failed} == {*names}
            assert {*answer.unresolvable} <= {*answer.failed}


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_no_eviction_would_help_where_that_is_said(seed: int) -> None:
    for every, answers in lived(seed):
        pod = every.pod()
        pod = replace(pod, pod=replace(pod.pod, priority=every.rng.choice([1, 6])))
        answer = answers.filtered(pod, every.names())
        for name in answer.failed:
            node = every.nodes.nodes[name].node
            for uid, there in tuple(node.snapshot.pods.items()):
                if victims.priority(there) < victims.priority(pod.pod):
                    node = node.remove(uid)
            assert (name in answer.unresolvable) == (not admits(node, pod.pod))


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_answers_hang_on_no_order_and_on_nothing_asked_before(seed: int) -> None:
    for every, answers in lived(seed):
        pod = every.pod()
        answer = in_any_order(answers.filtered(pod, every.names()))
        assert in_any_order(answers.filtered(pod, every.names())) == answer
        fresh = NodeFilter(every.nodes)
        assert in_any_order(fresh.filtered(pod, every.names())) == answer


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_texts_are_short_and_few(seed: int) -> None:
    for every, answers in lived(seed):
        pod = every.pod()
        failed = answers.filtered(pod, every.names()).failed
        assert all(text.startswith("numalet: ") and len(text) < 100 for text in failed.values())
        # Kinds differ in their policies; nodes of one kind have few causes to refuse a pod.
        assert len({*failed.values()}) <= 3 * KINDS


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_what_was_promised_ends_and_leaves_nothing_behind(seed: int) -> None:
    every = fleet(seed)
    answers = NodeFilter(every.nodes)
    for _ in range(30):
        every.change()
        on = [uid for name in every.names() for uid in _promised_on(every.nodes, name)]
        assert sorted(on) == sorted(every.nodes.promises)
        assert all(each.until_seconds > every.now_seconds for each in every.nodes.promises.values())
    for uid in tuple(every.nodes.promises):
        every.nodes.release(uid)
    without = ExpectedNodes()
    for name in every.names():
        without.put(name, every.nodes.base(name))
    pod = every.pod()
    fresh = NodeFilter(without).filtered(pod, every.names())
    assert in_any_order(answers.filtered(pod, every.names())) == in_any_order(fresh)


def _promised_on(nodes: ExpectedNodes, name: str) -> list[str]:
    return [each.pod.pod.uid for each in nodes.promised_on(name)]


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_no_kubelet_refuses_what_needs_no_opinion(seed: int) -> None:
    every = fleet(seed)
    for _ in range(10):
        pod = every.pod()
        pod = replace(pod, pod=_plain(pod.pod))
        assert not expected_nodes.needs_decision(pod.pod)
        for on in every.nodes.nodes.values():
            room = scheduler_sums.free(on.node)
            has_room = scheduler_sums.has_room(room, pod_demand.amounts(pod.pod))
            if has_room and kube_scheduler.why_not(on, pod) is None:
                _, decision = on.node.without_plugins().admit(pod.pod)
                assert (decision.rejection, decision.evicted) == (None, ())


def _plain(pod: Pod) -> Pod:
    """A pod of the kind on which no opinion is needed, as much like this one as can be."""

    def plain(each: Container) -> Container:
        limits = {name: amount for name, amount in each.limits.items() if "/" not in name}
        requests = {name: amount for name, amount in each.requests.items() if "/" not in name}
        kind = ContainerKind.INIT if each.kind is ContainerKind.SIDECAR else each.kind
        return replace(each, limits=limits, requests=requests, kind=kind)

    return replace(
        pod,
        init_containers=tuple(map(plain, pod.init_containers)),
        app_containers=tuple(map(plain, pod.app_containers)),
        qos_class=QosClass.BURSTABLE,
        pod_level=None,
    )


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_victims_stay_candidates_if_their_going_helps(seed: int) -> None:
    for every, answers in lived(seed):
        pod = every.pod()
        pod = replace(pod, pod=replace(pod.pod, priority=6, constraints=UNCONSTRAINED))
        if not expected_nodes.needs_decision(pod.pod):
            continue
        known = {
            uid: ClusterPod(
                pod=replace(there, node_name=name), controller=Controller("ReplicaSet", "r")
            )
            for name, on in every.nodes.nodes.items()
            for uid, there in on.node.snapshot.pods.items()
        }
        given = {
            name: VictimSet(tuple(uids))
            for name, on in every.nodes.nodes.items()
            if (uids := _some(every.rng, on.node, pod.pod))
        }
        answer = preempting.preempted(answers, pod, given, RunningPods(pods=known))
        for name, victim_set in given.items():
            node = _without(every.nodes.nodes[name].node, victim_set)
            kept = answer.sets.get(name)
            assert (kept == victim_set) == admits(node, pod.pod)
            assert (name in answer.useless) == (kept is None)
            if kept is not None:
                assert {*victim_set.uids} <= {*kept.uids}
                assert admits(_without(every.nodes.nodes[name].node, kept), pod.pod)
                assert all(victims.priority(known[uid].pod) < 6 for uid in kept.uids)
                ranks = [victims.priority(known[uid].pod) for uid in kept.uids]
                assert kept == victim_set or ranks == sorted(ranks, reverse=True)


def _some(rng: random.Random, node: Node, pod: Pod) -> list[str]:
    lower = [
        uid
        for uid, there in node.snapshot.pods.items()
        if victims.priority(there) < victims.priority(pod)
    ]
    return rng.sample(lower, rng.randint(1, len(lower))) if lower else []


def _without(node: Node, given: VictimSet) -> Node:
    for uid in given.uids:
        node = node.remove(uid)
    return node
