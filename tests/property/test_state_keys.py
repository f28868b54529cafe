"""The law of keys: nodes with equal keys for a shape decide alike on it, as ``Node.admit`` decides.

Over every policy, scope, option and release, both modes, machines of odd shapes, fragmented CPUs,
memory groups, devices on NUMA nodes and off them, leftovers of pods that are gone, and restarts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.core.admission.reasons import Rejection
from numalet.core.cluster import asking, keys, shapes
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.facts import FactReader, StateFacts
from numalet.core.cluster.keys import StateKey
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from oracles import stale_pods
from values import random_nodes

pytestmark = pytest.mark.property

Keying = Callable[[StateFacts, Asking], StateKey]
_NAMED = ("provider", "resource", "predicate", "subject", "container")


def reason(rejection: Rejection | None) -> tuple[object, ...]:
    """What has to be equal: the codes, and what they are about; not the figures."""
    if rejection is None:
        return ()
    cause = getattr(rejection, "cause", None)
    code = None if cause is None else cause.code
    return (rejection.code, code, *(getattr(rejection, each, None) for each in _NAMED))


def cases(seed: int, shapes_count: int = 4) -> Iterator[tuple[list[Node], Pod]]:
    """Nodes in 24 states of one setup, and a few shapes."""
    rng = random.Random(seed)
    nodes = list(random_nodes.states(rng, random_nodes.setup(rng), 24))
    for _ in range(shapes_count if nodes else 0):
        yield nodes, shapes.shape_of(random_nodes.shape(rng))


@dataclass(frozen=True)
class Decided:
    """A shape, and what each node says to it by itself."""

    shape: Pod
    facts: list[StateFacts]
    reasons: list[tuple[object, ...]]

    def contradictions(self, keying: Keying) -> int:
        """How many nodes decide otherwise than the first one that has their key."""
        first: dict[StateKey, tuple[object, ...]] = {}
        every = [keying(each, asking.of(self.shape, each.node_class)) for each in self.facts]
        pairs = zip(every, self.reasons, strict=True)
        return sum(first.setdefault(key, reason) != reason for key, reason in pairs)


def decided(seed: int) -> Iterator[Decided]:
    """The cases of a seed, each node asked by ``Node.admit``."""
    for nodes, shape in cases(seed):
        reader = FactReader()
        yield Decided(
            shape,
            [reader.facts(node) for node in nodes],
            [reason(node.admit(shape)[1].rejection) for node in nodes],
        )


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_equal_keys_have_equal_verdicts_for_equal_reasons(seed: int) -> None:
    for each in decided(seed):
        assert each.contradictions(keys.of) == 0
        assert each.contradictions(keys.whole) == 0


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_nodes_in_one_state_have_equal_keys(seed: int) -> None:
    for nodes, shape in cases(seed):
        reader = FactReader()
        first: dict[object, StateKey] = {}
        for facts in map(reader.facts, nodes):
            asked = asking.of(shape, facts.node_class)
            if asked.sees_only_the_state and facts.alone not in keys.of(facts, asked):
                key = keys.of(facts, asked)
                assert first.setdefault(facts.state, key) == key


def test_a_key_with_less_in_it_breaks_the_law() -> None:
    """Each part of a key is needed: without it some nodes of these seeds contradict each other."""

    def without(at: int) -> Keying:
        return lambda facts, asked: (*keys.of(facts, asked)[:at], *keys.of(facts, asked)[at + 1 :])

    def halved(facts: StateFacts, asked: Asking) -> StateKey:
        return keys.of(facts, replace(asked, cpus=asked.cpus // 2))

    def half_the_memory(facts: StateFacts, asked: Asking) -> StateKey:
        less = {name: size // 2 for name, size in (asked.memory or {}).items()}
        return keys.of(facts, replace(asked, memory=less))

    broken: dict[str, Keying] = {
        "cpus": without(1),
        "memory": without(2),
        "devices": without(3),
        "predicates": without(4),
        "half of the CPUs": halved,
        "half of the memory": half_the_memory,
    }
    right = set(broken)
    for seed in range(60):
        for each in decided(seed):
            right -= {name for name in right if each.contradictions(broken[name])}
        if not right:
            break
    assert right == set()


@settings(max_examples=10)
@given(seed=st.integers(0, 1 << 32))
def test_nodes_with_equal_whole_keys_take_as_many_copies(seed: int) -> None:
    for nodes, shape in cases(seed, 2):
        reader = FactReader()
        first: dict[StateKey, int] = {}
        for node in nodes:
            facts = reader.facts(node)
            key = keys.whole(facts, asking.of(shape, facts.node_class))
            assert first.setdefault(key, copies(node, shape)) == copies(node, shape)


def copies(node: Node, shape: Pod) -> int:
    """How many copies are admitted one after the other, of the first 20."""
    for number in range(20):
        node, decision = node.admit(replace(shape, uid=f"copy-{number}"))
        if not decision.admitted:
            return number
    return 20


MOST_GONE = 3


def after_each_set(node: Node, shape: Pod) -> list[tuple[object, ...]]:
    """What the node says once each set of its first pods has gone."""
    uids = list(node.snapshot.pods)[:MOST_GONE]
    answers = []
    for size in range(len(uids) + 1):
        for gone in combinations(uids, size):
            left = node
            for uid in gone:
                left = left.remove(uid)
            answers.append(reason(left.admit(shape)[1].rejection))
    return answers


@settings(max_examples=15)
@given(seed=st.integers(0, 1 << 32))
def test_nodes_whose_pods_hold_the_same_decide_alike_once_some_have_gone(seed: int) -> None:
    for nodes, shape in cases(seed, 2):
        reader = FactReader()
        first: dict[StateKey, list[tuple[object, ...]]] = {}
        for node in (each.release_stale() for each in nodes):
            for one in (node, random_nodes.with_other_uids(node, "other-")):
                facts = reader.facts(one)
                uids = list(one.snapshot.pods)[:MOST_GONE]
                key = keys.with_holders(facts, asking.of(shape, facts.node_class), uids)
                assert first.setdefault(key, after_each_set(one, shape)) == after_each_set(
                    one, shape
                )


def test_most_nodes_whose_pods_have_other_names_have_equal_keys() -> None:
    equal = count = 0
    for seed in range(20):
        for nodes, shape in cases(seed, 1):
            reader = FactReader()
            for node in (each.release_stale() for each in nodes):
                both = (node, random_nodes.with_other_uids(node, "other-"))
                known = [reader.facts(each) for each in both]
                asked = asking.of(shape, known[0].node_class)
                first, other = (
                    keys.with_holders(facts, asked, list(each.snapshot.pods)[:MOST_GONE])
                    for each, facts in zip(both, known, strict=True)
                )
                equal, count = equal + (first == other), count + 1
    assert equal > count / 2


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_what_is_known_to_be_stale_is_all_that_is(seed: int) -> None:
    for nodes, shape in cases(seed):
        for node in nodes:
            after, _ = node.admit(shape)
            uids = list(after.snapshot.pods)[:MOST_GONE]
            for each in (node, after, *map(after.remove, uids)):
                stale_pods.check(each)
                stale_pods.check(each.release_stale())
