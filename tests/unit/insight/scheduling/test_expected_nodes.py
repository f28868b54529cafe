"""Nodes with what they are expected to get, one change after the other."""

from __future__ import annotations

import pytest

from numalet.core.cluster.cluster import ClusterPod, Origin, UndecidedNode
from numalet.core.findings.cluster import ClusterNodeWithoutClass
from numalet.core.model.value import replace
from numalet.insight.scheduling import expected_nodes
from numalet.insight.scheduling.expected_nodes import ExpectedNodes, Promise
from values import gpu_fleet


def promise(uid: str, on: str, until_seconds: float = 30.0, gpus: int = 4) -> Promise:
    return Promise(ClusterPod(pod=gpu_fleet.pod(uid, gpus)), on, until_seconds)


def nodes(*names: str) -> ExpectedNodes:
    every = ExpectedNodes()
    for name in names:
        every.put(name, gpu_fleet.running(name, []))
    every.changes.clear()
    return every


def pods_on(every: ExpectedNodes, name: str) -> list[str]:
    return [*every.nodes[name].node.snapshot.pods]


def test_a_node_is_known_until_it_is_gone() -> None:
    every = nodes("a")
    assert every.base("a") is every.nodes["a"]
    why = UndecidedNode(name="a", why=ClusterNodeWithoutClass(node="a"))
    every.put("a", why)
    assert (every.base("a"), every.nodes, every.undecided) == (None, {}, {"a": why})
    every.put("a", None)
    assert (every.nodes, every.undecided) == ({}, {})
    assert every.changes == ["a", "a"]


def test_what_was_promised_is_on_the_node_until_it_is_released() -> None:
    every = nodes("a", "b")
    every.promise(promise("p", "a"))
    every.promise(promise("q", "a"))
    assert pods_on(every, "a") == ["p", "q"]
    assert [each.pod.pod.uid for each in every.promised_on("a")] == ["p", "q"]
    every.release("p")
    assert pods_on(every, "a") == ["q"]
    every.release("q")
    every.release("of no one")
    assert every.nodes["a"] is every.base("a")
    assert every.promises == {}
    assert every.changes == ["a"] * 4


def test_a_pod_has_one_promise_and_the_last_one_counts() -> None:
    every = nodes("a", "b")
    every.promise(promise("p", "a"))
    every.promise(promise("p", "b"))
    assert (pods_on(every, "a"), pods_on(every, "b")) == ([], ["p"])
    assert every.promised_on("a") == ()


def test_the_same_promise_again_changes_its_time_alone() -> None:
    every = nodes("a", "b")
    every.promise(promise("x", "a", until_seconds=10.0))
    on = every.nodes["a"]
    every.promise(promise("x", "a", until_seconds=20.0))
    assert (every.nodes["a"], every.changes) == (on, ["a"])
    assert every.pass_time(10.0) == []
    every.promise(promise("x", "a", until_seconds=20.0, gpus=1))
    assert every.nodes["a"] is not on


def test_a_promise_ends_when_its_time_is_over() -> None:
    every = nodes("a", "b")
    late, later = promise("p", "a", 10.0), promise("q", "b", 20.0)
    every.promise(late)
    every.promise(later)
    assert every.pass_time(9.9) == []
    assert every.pass_time(10.0) == [late]
    assert {*every.promises} == {"q"}
    assert pods_on(every, "a") == []


def test_a_promise_outlives_a_node_that_is_not_known_for_a_while() -> None:
    every = nodes("a")
    every.promise(promise("p", "a"))
    every.put("a", None)
    assert every.nodes == {}
    every.put("a", gpu_fleet.running("a", []))
    assert pods_on(every, "a") == ["p"]


def test_a_long_list_of_changes_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_nodes, "_MOST_CHANGES", 2)
    every = nodes("a")
    for _ in range(3):
        every.put("a", gpu_fleet.running("a", []))
    assert (every.changes, every.forgotten) == ([], 3)


def test_an_ended_pod_counts_while_others_of_its_time_are_undecided() -> None:
    every, gone = nodes("a"), replace(gpu_fleet.pod("gone", 2), node_name="a")
    coming = replace(gpu_fleet.pod("coming", 2), node_name="a")
    undecided = replace(
        gpu_fleet.running("a", []),
        origin=Origin.PUBLISHED,
        node=gpu_fleet.running("a", []).node.keep_active(coming),
    )
    every.ended(gone, frozenset())
    assert every.departed("a") == ()
    every.ended(gone, frozenset({"coming", "other"}))
    every.put("a", undecided)
    assert every.departed("a") == (gone,)
    # It has been decided, and so have all that the ended one may have met.
    every.put("a", gpu_fleet.running("a", [coming]))
    assert every.departed("a") == ()
    every.ended(gone, frozenset({"coming"}))
    every.put("a", None)
    assert every.departed("a") == ()
