"""The generator of node states makes what it says, and the same each time."""

from __future__ import annotations

import random

import pytest

from numalet.core.admission.decision import Decision
from values import node_shapes, node_states
from values.node_states import Life


@pytest.mark.parametrize("node_count", [1, 2, 4, 8, 12, 16, 36, 64])
def test_every_machine_starts_in_every_shape(node_count: int) -> None:
    for shape in node_shapes.SHAPES:
        life = Life(shape(node_count, random.Random(1)), "restricted", "pod", closest=True)
        node = node_states.empty(life)

        assert node_count == len(node.rules.machine.nodes)
        assert sorted(life.shape.devices) == sorted(node.snapshot.device.inventory.registered)


def test_the_same_seed_makes_the_same_node() -> None:
    def made() -> tuple[dict[str, str], str]:
        rng = random.Random(5)
        life = node_states.any_life(8, rng)
        node = node_states.fragmented(life, rng)
        return node.state_files(), repr(node_states.pod("newcomer", life, rng, 5))

    assert made() == made()


def test_fragmented_nodes_have_groups_and_room_left() -> None:
    with_groups, admitted = 0, 0
    for number in range(10):
        rng = random.Random(f"groups {number}")
        life = node_states.any_life(8, rng, "best-effort")
        node = node_states.fragmented(life, rng)
        with_groups += node_states.has_group(node)
        admitted += node.admit(node_states.pod("newcomer", life, rng, 2))[1].admitted

    assert with_groups >= 3
    assert 1 <= admitted <= 9


def test_every_decision_on_the_way_is_reported() -> None:
    seen: list[Decision] = []
    rng = random.Random(7)
    node = node_states.fragmented(node_states.any_life(4, rng), rng, seen.append)

    assert len(seen) >= 2
    assert set(node.snapshot.pods) <= {each.pod.uid for each in seen if each.admitted}
