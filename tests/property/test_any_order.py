"""Pods that are safe are admitted in every order, by an oracle that tries all orders."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.cluster.any_order import AnyOrder
from numalet.core.cluster.cluster import ClusterNode, Origin
from numalet.core.cluster.facts import FactReader
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from values import gpu_fleet, published_lives

pytestmark = pytest.mark.property


ORDERS = AnyOrder(FactReader(), most_admissions=10_000)


def described(node: Node) -> ClusterNode:
    return ClusterNode(name="n", node=node, origin=Origin.DESCRIBED, class_name="c")


def in_every_order(node: Node, pods: Sequence[Pod]) -> bool:
    return all(_in_this_order(node.without_plugins(), order) for order in permutations(pods))


def _in_this_order(node: Node, pods: Sequence[Pod]) -> bool:
    for each in pods:
        node, decision = node.admit(each)
        if not decision.admitted:
            return False
    return True


def pods_of(rng: random.Random, shapes: int, copies: int) -> list[Pod]:
    """Several copies of some shapes, none critical: these may evict."""
    made = [replace(published_lives.pod(rng, at), priority=None) for at in range(shapes)]
    return [replace(made[at % shapes], uid=f"new-{at}", name=f"n-{at}") for at in range(copies)]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_pods_are_safe_exactly_if_every_order_admits_them(
    seed: int, shapes: int, copies: int
) -> None:
    rng = random.Random(seed)
    node = published_lives.life(rng).node
    pods = pods_of(rng, shapes, copies)
    assert ORDERS.admits(described(node), pods[:-1], pods[-1]) == in_every_order(node, pods)


SIZES = ((4, 8, 0), (12, 24, 0), (8, 32, 2), (9, 18, 1), (20, 60, 0), (4, 16, 4), (15, 20, 0))
"""CPUs, GiB and GPUs of pods for NUMA nodes of 32 CPUs, 256Gi and 4 GPUs."""


def sized(uid: str, size: tuple[int, int, int]) -> Pod:
    cpus, gib, gpus = size
    return gpu_fleet.pod(uid, gpus, cpus, gib)


@given(
    st.sampled_from(("single-numa-node", "restricted", "best-effort", "none")),
    st.lists(st.sampled_from(SIZES), max_size=3),
    st.lists(st.sampled_from(SIZES), min_size=1, max_size=5),
)
def test_so_they_are_where_the_order_decides(
    policy: str, there: list[tuple[int, int, int]], new: list[tuple[int, int, int]]
) -> None:
    node = gpu_fleet.empty(policy)
    for at, size in enumerate(there):
        after, decision = node.admit(sized(f"there-{at}", size))
        node = after if decision.admitted else node
    pods = [sized(f"new-{at}", size) for at, size in enumerate(new)]
    # Remembered from the examples before: what other nodes and pods were cannot change an answer.
    assert ORDERS.admits(described(node), pods[:-1], pods[-1]) == in_every_order(node, pods)
