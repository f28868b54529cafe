"""What is out of reach is refused: over nodes of every policy, scope, option and release.

For each set of pods of a node, tried in full: where it is said that the set can not be enough, the
node without them refuses.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.core.cluster import asking, shapes
from numalet.core.cluster.facts import FactReader
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.insight.fleet import size_bound
from numalet.insight.fleet.size_bound import SizeBound
from values import random_nodes

pytestmark = pytest.mark.property

MOST_PODS = 5


def _tried(node: Node, shape: Pod) -> tuple[int, int]:
    """How many sets are refused in all, and how many of them were out of bound."""
    node = node.release_stale()
    facts = FactReader().facts(node)
    asked = asking.of(shape, facts.node_class)
    uids = sorted(node.snapshot.pods)[:MOST_PODS]
    bound = SizeBound(size_bound.needs(facts, asked.pod, uids), len(uids))
    refused = out_of_reach = 0
    for size in range(len(uids) + 1):
        for gone in combinations(range(len(uids)), size):
            after, short = node, bound.short
            for at in gone:
                after, short = after.remove(uids[at]), bound.after(short, at)
            fits = after.fits(shape)
            is_within = bound.is_within(short, 0, len(uids))
            assert is_within or not fits
            assert bound.is_within(bound.short, size, 0) or not fits
            if fits:
                assert bound.fewest is not None
                assert bound.fewest <= size
            refused += not fits
            out_of_reach += not is_within
    return refused, out_of_reach


def _cases(seed: int, policy: str | None = None) -> tuple[int, int]:
    rng = random.Random(seed)
    setup = random_nodes.setup(rng)
    if policy is not None:
        config = replace(setup.config, topology_manager_policy=policy)
        setup = replace(setup, config=config)
    refused = out_of_reach = 0
    for node in random_nodes.states(rng, setup, 6):
        of_node = _tried(node, shapes.shape_of(random_nodes.shape(rng)))
        refused, out_of_reach = refused + of_node[0], out_of_reach + of_node[1]
    return refused, out_of_reach


@settings(max_examples=20)
@given(seed=st.integers(0, 1 << 32))
def test_what_is_out_of_reach_is_refused(seed: int) -> None:
    _cases(seed)
    _cases(seed, "single-numa-node")


def test_most_of_what_one_numa_node_refuses_is_out_of_reach() -> None:
    refused = out_of_reach = 0
    for seed in range(40):
        of_seed = _cases(seed, "single-numa-node")
        refused, out_of_reach = refused + of_seed[0], out_of_reach + of_seed[1]
    assert out_of_reach > refused / 2
