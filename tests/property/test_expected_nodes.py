"""A node is expected to be what it becomes: pods on their way are decided as it decides them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from numalet.core.cluster import classes, published
from numalet.core.cluster.cluster import ClusterNode, Origin
from numalet.core.cluster.holding import awaited, expected, may_hold
from numalet.core.cluster.published_state import PodHeld, PublishedState
from numalet.core.managers.cpu import ledger as cpu_ledger
from numalet.core.managers.device import ledger as device_ledger
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from values import published_lives
from values.published_lives import Life

pytestmark = pytest.mark.property

lives = st.integers(0, 2**32 - 1).map(random.Random).map(published_lives.life)


# A pod with resources as a whole, in container scope, where no manager gives it anything.
@example(published_lives.life(random.Random(427373)), 1)
# A pod that asks for devices whose plugin went, and holds nothing.
@example(published_lives.life(random.Random(91894221)), 1)
# Two rejected pods of which the first one leaves devices that it might have used again.
@example(published_lives.life(random.Random(1058772)), 2)
# A pod that is placed at once, in native mode, where no manager gives it anything.
@example(published_lives.life(random.Random(574324)), 1)
@given(lives, st.integers(0, 4))
def test_a_node_is_expected_to_be_what_it_becomes(life: Life, count: int) -> None:
    node = life.node.without_plugins()
    state = published.of_node(node)
    # One that came while the plugin of its devices was gone holds nothing: see ``expected``.
    there_already = node.snapshot.pods.values()
    assume(all(pod.uid in state.pods or not may_hold(node, pod) for pod in there_already))
    sent: list[Pod] = []
    for at in range(count):
        pod = published_lives.pod(life.rng, 100 + at)
        after, decision = node.admit(pod)
        if decision.admitted and not decision.evicted:
            node = after
            sent.append(pod)

    started = classes.start(classes.spec_of(life.node, life.config))
    assert isinstance(started, Node), started
    bound = [*life.node.snapshot.pods.values(), *sent]
    there = expected(_published(published.onto(started, state, bound)))
    assert _held(there.node) == _held(node)

    decided = _published(published.onto(started, published.of_node(node), bound))
    assert {each.uid for each in awaited(decided)}.isdisjoint(each.uid for each in sent)


def _held(node: Node) -> PublishedState:
    """What pods hold, without CPUs and devices that one may use again.

    These are forgotten as soon as another pod comes, and of a pod that holds nothing a state does
    not say whether it has come.
    """
    snapshot = node.release_stale().snapshot
    cpu = replace(snapshot.cpu, reusable=cpu_ledger.NOTHING_REUSABLE)
    device = replace(snapshot.device, reusable=device_ledger.NOTHING_REUSABLE)
    state = published_lives.shown(node.at(replace(snapshot, cpu=cpu, device=device)))
    return replace(state, pods={uid: each for uid, each in state.pods.items() if each != PodHeld()})


def _published(node: Node) -> ClusterNode:
    return ClusterNode(name="n", node=node, origin=Origin.PUBLISHED, class_name="c")
