"""How many nodes may have the taint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from numalet.core.cluster.cluster import Taint, TaintEffect
from numalet.core.cluster.objects import ListedNode
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections import taint_cap
from numalet.insight.rejections.rules import BreakerRules
from numalet.insight.rejections.taint_cap import TaintRoom
from values.pod_storms import POOL

HALF = BreakerRules(taint_share=0.5)
TRAP = Taint(TAINT_KEY, "", TaintEffect.NO_SCHEDULE)
GPU_ONLY = Taint("nvidia.com/gpu", "present", TaintEffect.NO_SCHEDULE)
PREFERRED = Taint("noisy", "", TaintEffect.PREFER_NO_SCHEDULE)


def node(name: str, *taints: Taint, **fields: Any) -> ListedNode:
    return ListedNode(name=name, labels=POOL, taints=taints, **fields)


def room(
    nodes: Iterable[ListedNode], planned: Iterable[str] = (), rules: BreakerRules = HALF
) -> TaintRoom:
    return taint_cap.room({each.name: each for each in nodes}, planned, rules)


@pytest.mark.parametrize(
    ("nodes", "share", "most"),
    [(1, 1.0, 0), (4, 0.1, 0), (9, 0.1, 0), (10, 0.1, 1), (40, 0.1, 4), (30, 0.1, 3),
     (4, 0.75, 3), (4, 1.0, 3), (4, 0.0, 0)],
)  # fmt: skip
def test_a_share_of_the_pool_is_rounded_down_and_never_all(
    nodes: int, share: float, most: int
) -> None:
    assert taint_cap.most(nodes, BreakerRules(taint_share=share)) == most


def test_taints_that_are_there_and_that_are_on_their_way_use_up_the_share() -> None:
    nodes = [node(f"n{at}", *([TRAP] if at == 0 else [])) for at in range(6)]
    left = room(nodes, planned=["n1"])
    assert left.may_have("n2")
    left.give("n2")
    assert not left.may_have("n3")
    assert not room(nodes).may_have("n0")


def test_a_node_that_is_not_known_gets_none() -> None:
    assert not room([node("n0"), node("n1")]).may_have("n2")


def test_the_last_node_that_takes_pods_gets_none() -> None:
    nodes = [node("n0"), node("n1", is_ready=False), node("n2", is_cordoned=True), node("n3", TRAP)]
    assert not room(nodes, rules=BreakerRules(taint_share=0.75)).may_have("n0")


def test_the_last_node_of_its_kind_gets_none_whatever_other_kinds_there_are() -> None:
    nodes = [node("n0"), *[node(f"g{at}", GPU_ONLY, PREFERRED) for at in range(3)]]
    left = room(nodes)
    assert not left.may_have("n0")
    assert left.may_have("g0")


def test_all_of_some_nodes_may_have_it_only_if_that_is_within_the_share() -> None:
    left = room([node(f"n{at}") for at in range(4)])
    assert left.may_all_have(["n0", "n1"])
    assert not left.may_all_have(["n0", "n1", "n2"])
    assert left.slots == {"gpus": 2}


def test_it_is_too_much_once_a_pool_is_smaller_or_the_rest_of_it_is_kept_away() -> None:
    two = [node("n0", TRAP), node("n1", TRAP), node("n2")]
    left = room(two)
    assert left.is_too_much_on("n0", True)
    left.give_back("n0", True)
    assert not left.is_too_much_on("n1", True)
    left = room([node("n0", TRAP), node("n1", is_cordoned=True)])
    assert left.is_too_much_on("n0", True)
    assert not left.is_too_much_on("n0", False)
    left.give_back("n0", False)
    assert left.is_too_much_on("n0", True)
