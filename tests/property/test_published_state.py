"""A node that was rebuilt from what it published decides every later pod as the node itself."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.admission.decision import Decision
from numalet.core.cluster import classes, published
from numalet.core.cluster.published_state import PublishedState
from numalet.core.model.findings import Location
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.shared.publish import node_view
from values import published_lives
from values.published_lives import Life

pytestmark = pytest.mark.property

lives = st.integers(0, 2**32 - 1).map(random.Random).map(published_lives.life)


def rebuilt(life: Life) -> Node:
    """The node from its class and its published state, and from the pods that are active."""
    written = json.dumps(node_view.objects_of_node(life.node, life.config).class_object)
    spec = numa_node_class.decode(json.loads(written), Location("numanodeclass.json"))
    empty = classes.start(spec)
    assert isinstance(empty, Node), empty
    member = classes.member(empty, NodeIdentity(name="node-1"))
    return published.onto(member, through_json(life), life.node.snapshot.pods.values())


def through_json(life: Life) -> PublishedState:
    """The state of the node as it is read from its object."""
    node_objects = node_view.objects_of_node(life.node, life.config)
    written = json.dumps(node_objects.node_object("node-1", datetime(2026, 1, 31, tzinfo=UTC)))
    return numa_node.decode(json.loads(written), Location("numanode.json")).state


def verdict(decision: Decision, after: Node) -> tuple[Any, ...]:
    """What was decided, devices by position and without the texts that name them."""
    rejection = decision.rejection
    known = after.snapshot.device.inventory.known
    held = placement.of_pod(after.snapshot, decision.pod)
    text = repr(rejection)
    for devices in known.values():
        for at, name in enumerate(sorted(devices.by_id)):
            text = text.replace(repr(name), f"device {at}")
    return (
        text,
        decision.evicted,
        decision.passed_over,
        decision.affinities,
        len(decision.left_behind),
        {
            name: (part.cpus, part.memory, _positions(part.devices, known))
            for name, part in held.items()
        },
    )


def _positions(devices: Any, known: Any) -> dict[str, list[int]]:
    """Positions among the known devices, which are all of those that are given out."""
    return {
        resource: [sorted(known[resource].by_id).index(each) for each in ids]
        for resource, ids in devices.items()
    }


@given(lives)
def test_the_rebuilt_node_publishes_the_same_and_has_the_same_class(life: Life) -> None:
    again = rebuilt(life)

    assert published_lives.shown(life.node) == published_lives.shown(again)
    assert classes.spec_of(life.node, life.config).machine == again.rules.machine
    assert life.node.rules == replace(again.rules, identity=life.node.rules.identity)


@given(lives)
def test_every_later_pod_is_decided_as_on_the_node_itself(life: Life) -> None:
    node, again = life.node, rebuilt(life)
    rng = life.rng
    for at in range(100, 108):
        pod = published_lives.pod(rng, at)
        node, decision = node.admit(pod)
        again, same = again.admit(pod)

        assert verdict(decision, node) == verdict(same, again)
        assert published_lives.shown(node) == published_lives.shown(again)
        node, again = _later(node, again, random.Random(rng.getrandbits(32)))
        assert published_lives.shown(node) == published_lives.shown(again)


def _later(node: Node, again: Node, rng: random.Random) -> tuple[Node, Node]:
    """Both nodes after the same event."""
    keys = published_lives.container_keys(node)
    match rng.choice(("start", "remove", "ready", "again")) if keys else "ready":
        case "start":
            key = rng.choice(keys)
            return node.container_started(key), again.container_started(key)
        case "remove":
            uid = rng.choice(keys).pod_uid
            return node.remove(uid), again.remove(uid)
        case "again":
            pod = node.snapshot.pods[rng.choice(keys).pod_uid]
            return node.admit(pod)[0], again.admit(pod)[0]
        case _:
            return node.sources_ready(), again.sources_ready()
