"""An honest state is trusted whatever happened to its node; one that was changed is not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from numalet.core.cluster import classes, published, trust
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.objects import ListedState
from numalet.core.cluster.published_state import PodHeld, PublishedState
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.node.node import Node
from values import published_lives
from values.published_lives import Life

pytestmark = pytest.mark.property

lives = st.integers(0, 2**32 - 1).map(random.Random).map(published_lives.life)


def contradictions(
    life: Life, state: PublishedState, pods: dict[str, ClusterPod]
) -> tuple[Finding, ...]:
    started = classes.start(classes.spec_of(life.node, life.config))
    assert isinstance(started, Node), started
    member = classes.member(started, NodeIdentity(name="n"))
    listed = ListedState("c", state)
    return trust.checked(member, listed, pods, list(pods.values())).contradictions


def pods(life: Life, phase: str = "Pending") -> dict[str, ClusterPod]:
    return {
        uid: ClusterPod(pod=replace(pod, node_name="n", phase=phase))
        for uid, pod in life.node.snapshot.pods.items()
    }


def has_miscounted(node: Node) -> bool:
    """Whether what is reserved on NUMA nodes differs from the blocks there, in its own ledger.

    As in the kubelet: memory of one node of a group may be given to a container alone, and when
    such blocks are released, the figures of the nodes drift apart, or some of them stay for good.
    """
    ledger = node.snapshot.memory
    blocks = [block for _, block in ledger.counted_blocks()]
    together = [{node_id} for node_id in ledger.nodes]
    for block in blocks:
        joined = [each for each in together if each & set(block.nodes)]
        together = [each for each in together if each not in joined]
        together.append(set().union(*joined))
    for node_ids in together:
        here = [block for block in blocks if node_ids & set(block.nodes)]
        for name in {name for each in node_ids for name in ledger.nodes[each].tables}:
            reserved = sum(ledger.nodes[each].tables[name].reserved for each in node_ids)
            if reserved != sum(block.size_bytes for block in here if block.resource == name):
                return True
    return any(
        each.assignments != sum(node_id in block.nodes for block in blocks)
        for node_id, each in ledger.nodes.items()
    )


@given(lives)
def test_an_honest_state_has_no_contradictions(life: Life) -> None:
    """But where pods came while their devices had no plugin: they run without these for ever.

    And but for memory that a kubelet itself has miscounted.
    """
    assume(not has_miscounted(life.node))
    state = published.of_node(life.node)
    has_lacked_plugins = any("expired" in each or "restart" in each for each in life.story)
    running = pods(life, "Pending" if has_lacked_plugins else "Running")
    assert contradictions(life, state, running) == ()


def moves(state: PublishedState) -> list[PublishedState]:
    """States in which one CPU went from a container to another, or into or out of the pool."""
    changed = []
    places = [
        (uid, at, held.held.cpus)
        for uid, pod in state.pods.items()
        for at, held in enumerate(pod.containers)
        if held.held.cpus
    ]
    for uid, at, cpus in places:
        assert cpus is not None
        one = frozenset([min(cpus)])
        less = with_cpus(state, uid, at, cpus - one)
        changed.append(less)
        changed.append(replace(less, shared_cpus=(state.shared_cpus or frozenset()) | one))
        for other, other_at, others in places:
            if other != uid and others is not None:
                changed.append(with_cpus(less, other, other_at, others | one))
                changed.append(with_cpus(state, other, other_at, others | one))
    return changed


def with_cpus(state: PublishedState, uid: str, at: int, cpus: CpuSet) -> PublishedState:
    pod = state.pods[uid]
    containers = list(pod.containers)
    containers[at] = replace(containers[at], held=replace(containers[at].held, cpus=cpus))
    changed: PodHeld = replace(pod, containers=tuple(containers))
    return replace(state, pods={**state.pods, uid: changed})


@given(lives)
def test_a_state_with_one_cpu_moved_is_not_trusted(life: Life) -> None:
    """But for init containers, whose pods hold their CPUs all the same, and unknown pods."""
    node = life.node
    state = published.of_node(node)
    running = pods(life, "Running")
    is_plain = node.snapshot.sources_ready and not any(
        pod.init_containers or pod.pod_level for pod in node.snapshot.pods.values()
    )
    if not is_plain or node.leftovers() or node.snapshot.assumed:
        return
    for moved in moves(state):
        assert contradictions(life, moved, running) != ()
