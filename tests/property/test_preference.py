"""What the preferences promise, on random fleets, held against plain looks at two snapshots.

Fleets of every policy, scope, option and release; the oracle admits the pod on each node with the
engine and compares what was there before with what is there after.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.core.cluster import asking, keys, shapes
from numalet.core.cluster.facts import FactReader
from numalet.core.cluster.verdicts import Verdicts
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.insight.fleet import preference
from numalet.insight.fleet.footprint import Footprint, Footprints, scarcest_first
from numalet.insight.fleet.preference import Preference
from oracles import footprints_by_snapshot
from oracles.footprints_by_snapshot import Seen
from values import random_nodes

pytestmark = pytest.mark.property

Fleet = dict[str, Node]


def fleets(seed: int) -> Iterator[tuple[Fleet, Pod]]:
    """Nodes of two setups, each in states of its own, and a few shapes."""
    rng = random.Random(seed)
    nodes = [
        node for _ in range(2) for node in random_nodes.states(rng, random_nodes.setup(rng), 8)
    ]
    rng.shuffle(nodes)
    fleet = {f"n{at:02}": node for at, node in enumerate(nodes)}
    for _ in range(4):
        yield fleet, shapes.shape_of(random_nodes.shape(rng))


def footprints(fleet: Fleet, pod: Pod) -> dict[str, Footprint]:
    """The footprint on each node that admits the pod, as the extender gets it."""
    reader, of = FactReader(), Footprints(Verdicts().table(pod))
    every = {name: of.of(reader.facts(node)) for name, node in fleet.items()}
    return {name: each for name, each in every.items() if each is not None}


def seen_on(fleet: Fleet, pod: Pod) -> dict[str, Seen]:
    """What the oracle sees on each node that admits the pod."""
    every = {name: footprints_by_snapshot.seen(node, pod) for name, node in fleet.items()}
    return {name: each for name, each in every.items() if each is not None}


def chosen(fleet: Fleet, pod: Pod, by: Preference) -> str | None:
    """The best node, where one admits the pod."""
    ranks = {name: by.rank(each) for name, each in footprints(fleet, pod).items()}
    return min(ranks, key=lambda name: (ranks[name], name), default=None)


def left(of: Seen, names: tuple[str, ...]) -> list[tuple[int, int]]:
    """What is left of each resource, the scarcest first: on the node, and beside the pod."""
    return [(of.left[name][1], of.left[name][0]) for name in names]


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_a_footprint_is_what_two_snapshots_show(seed: int) -> None:
    for fleet, pod in fleets(seed):
        found, expected = footprints(fleet, pod), seen_on(fleet, pod)
        assert found.keys() == expected.keys()
        for name, each in found.items():
            by_snapshot = expected[name]
            assert each.broken == len(by_snapshot.broken)
            assert each.grouped == len(by_snapshot.grouped)
            assert (each.numa_nodes, each.distance, each.device_distance) == (
                len(by_snapshot.on),
                by_snapshot.farthest,
                by_snapshot.devices_away,
            )
            names = scarcest_first(by_snapshot.left)
            assert [(of.beside, of.in_all) for of in each.left] == [
                by_snapshot.left[of] for of in names
            ]


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_pack_breaks_no_whole_numa_node_where_that_can_be_avoided(seed: int) -> None:
    for fleet, pod in fleets(seed):
        best, expected = chosen(fleet, pod, Preference.PACK), seen_on(fleet, pod)
        if best is not None:
            fewest = min(len(each.broken) for each in expected.values())
            assert len(expected[best].broken) == fewest
            as_few = [each for each in expected.values() if len(each.broken) == fewest]
            grouped = min(len(each.grouped) for each in as_few)
            assert len(expected[best].grouped) == grouped


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_spread_leaves_the_most_of_the_scarcest_resource(seed: int) -> None:
    for fleet, pod in fleets(seed):
        best, expected = chosen(fleet, pod, Preference.SPREAD), seen_on(fleet, pod)
        if best is not None:
            names = scarcest_first(expected[best].left)
            assert left(expected[best], names) == max(
                left(each, names) for each in expected.values()
            )


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_closest_takes_the_fewest_numa_nodes_and_then_the_nearest(seed: int) -> None:
    for fleet, pod in fleets(seed):
        best, expected = chosen(fleet, pod, Preference.CLOSEST), seen_on(fleet, pod)
        if best is not None:
            of = expected[best]
            assert (len(of.on), of.farthest, of.devices_away) == min(
                (len(each.on), each.farthest, each.devices_away) for each in expected.values()
            )


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_nodes_with_equal_keys_give_a_pod_the_same_numa_nodes(seed: int) -> None:
    """Why one admission is enough for all of them."""
    for fleet, pod in fleets(seed):
        reader, first = FactReader(), dict[keys.StateKey, object]()
        for node in fleet.values():
            facts = reader.facts(node)
            after, decision = node.admit(pod)
            places: Mapping[str, object] = (
                {
                    name: footprints_by_snapshot.held_at(after, name, pod.uid)
                    for name in footprints_by_snapshot.resources(pod)
                }
                if decision.admitted
                else {}
            )
            key = keys.whole(facts, asking.of(pod, facts.node_class))
            assert first.setdefault(key, places) == places


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_scores_fall_with_ranks_and_one_node_has_the_most(seed: int) -> None:
    rng = random.Random(seed)
    ranks = {
        f"n{at:02}": tuple(rng.randint(0, 3) for _ in range(2)) for at in range(rng.randint(1, 40))
    }
    best = rng.choice([*ranks])
    points = preference.scores(ranks, best)
    assert [name for name, each in points.items() if each == 10] == [best]
    assert all(1 <= each <= 10 for each in points.values())
    for one, other in zip(*[iter(sorted(points, key=points.__getitem__))] * 2, strict=False):
        assert points[one] == points[other] or ranks[one] > ranks[other] or other == best
