"""Admissions in advance that are remembered while the node decides alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster import arrivals
from numalet.core.cluster.arrivals import Arrivals
from values import gpu_fleet

NODE = gpu_fleet.running("n", [gpu_fleet.pod("a", 2)]).node


def test_an_equal_node_and_a_pod_that_was_bound_meanwhile_are_known() -> None:
    known, pod = Arrivals(), gpu_fleet.pod("b", 2)
    after = known.after(NODE, pod)
    assert {*after.snapshot.pods} == {"a", "b"}
    again = gpu_fleet.running("n", [replace(gpu_fleet.pod("a", 2), phase="Running")]).node
    assert known.after(again, replace(pod, node_name="n")) is after


def test_another_pod_of_this_uid_or_another_state_is_not() -> None:
    known, pod = Arrivals(), gpu_fleet.pod("b", 2)
    after = known.after(NODE, pod)
    assert known.after(NODE, gpu_fleet.pod("b", 4)) is not after
    larger = gpu_fleet.running("n", [gpu_fleet.pod("a", 4)]).node
    assert known.after(larger, pod) == larger.admit(pod)[0]


def test_a_rejected_pod_leaves_the_node_as_it_is() -> None:
    known, pod = Arrivals(), gpu_fleet.pod("b", 8)
    assert known.after(NODE, pod) is NODE
    assert known.after(NODE, pod) is NODE


def test_the_latest_admissions_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "MOST", 1)
    known, pod = Arrivals(), gpu_fleet.pod("b", 2)
    after = known.after(NODE, pod)
    assert known.after(NODE, pod) is after
    known.after(NODE, gpu_fleet.pod("c", 2))
    assert known.after(NODE, pod) is not after
