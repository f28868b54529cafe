"""A node whose device plugins come and go."""

from __future__ import annotations

import pytest

from numalet.agent.telemetry.metrics import Counts
from numalet.core.managers.device import registration
from numalet.core.managers.device.preference import (
    AllocateAnswer,
    CallFailed,
    PreferenceQuestion,
    Preferred,
)
from numalet.core.model.pod import ContainerKey
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from values import served_node
from values.device_bench import GPU, NIC


def _allocatable(node: Node) -> dict[str, int]:
    told = registration.capacities(node.snapshot.device)
    return {name: each.allocatable for name, each in told.items()}


def test_a_plugin_that_went_has_nothing_to_give() -> None:
    node = served_node.with_pods([]).plugin_stopped(GPU)
    assert _allocatable(node) == {GPU: 0, NIC: 1}
    assert _allocatable(node.resource_expired(GPU)) == {NIC: 1}


def test_the_end_of_a_plugin_that_never_reported_changes_nothing() -> None:
    node = served_node.with_pods([])
    assert node is node.plugin_stopped("example.com/other")


def test_counts_of_others_stand_beside_ours() -> None:
    ours, theirs = Counts().plus("a"), Counts().plus("b", (("of", "x"),), 2)
    both = ours.and_also([theirs])
    assert (both.of("a"), both.of("b", (("of", "x"),))) == (1, 2)
    seen = Counts().observed("h", (1.0, 2.0), 1.5, (("of", "x"),))
    assert seen.of("h_bucket", (("of", "x"), ("le", "2"))) == 1
    assert seen.of("h_sum", (("of", "x"),)) == 1.5


class Loud:
    """Plugins that may not be asked."""

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        raise AssertionError(question)

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        raise AssertionError(container)


def test_a_decision_that_is_not_carried_out_asks_no_plugin() -> None:
    node = nodes.start(
        served_node.CONFIG, served_node.machine(), devices=served_node.DEVICES, plugins=Loud()
    )
    assert isinstance(node, Node)
    with pytest.raises(AssertionError):
        node.admit(served_node.ALIGNED)
    foreseen, decision = node.without_plugins().admit(served_node.ALIGNED)
    assert decision.admitted
    assert foreseen.snapshot == served_node.with_pods([served_node.ALIGNED]).snapshot


def test_a_node_that_asks_these_plugins_already_is_the_same_node() -> None:
    node = served_node.with_pods([])
    assert node.without_plugins() is node
    loud, other = Loud(), Loud()
    asking = node.asking(loud)
    assert asking.asking(loud) is asking
    assert asking.asking(other) is not asking
    assert asking.without_plugins().roster.slots[0] == node.roster.slots[0]
