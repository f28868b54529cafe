"""Shapes of waiting pods are decided on before anybody asks, a little at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from numalet.cluster.extender import prewarming
from numalet.cluster.extender.prewarming import SLICE_SECONDS, Prewarming
from numalet.core.cluster.cluster import ClusterPod
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import NodeFilter
from numalet.io.tasks import ended
from values import gpu_fleet

FOUR = ClusterPod(pod=gpu_fleet.pod("four", 4))


class StrictClock:
    """A clock of which every reading takes a millisecond."""

    def __init__(self) -> None:
        self._now_seconds = 0.0

    def now_seconds(self) -> float:
        self._now_seconds += 0.001
        return self._now_seconds

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody waits here")


def fleet(count: int) -> ExpectedNodes:
    every = ExpectedNodes()
    first = gpu_fleet.empty()
    for at in range(count):
        pods = [gpu_fleet.pod(f"p{each}", 1) for each in range(at % 7)]
        every.put(f"n{at}", gpu_fleet.running(f"n{at}", pods, on=first))
    return every


async def turns(is_so: Callable[[], bool]) -> None:
    """Let others have their turn until it is so."""
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come to that")


async def test_a_waiting_shape_is_decided_on_in_slices() -> None:
    nodes = fleet(400)
    by = NodeFilter(nodes)
    refreshed: list[bool] = []
    work = Prewarming(by, lambda: refreshed.append(True), StrictClock())
    task = asyncio.create_task(work.run())
    try:
        work.seen(FOUR)
        work.seen(ClusterPod(pod=gpu_fleet.pod("another", 4)))
        await turns(lambda: work.shapes_done == 1)
    finally:
        await ended(task)
    of = by.memory.of(FOUR.pod)
    assert of.by_name.keys() == nodes.nodes.keys()
    assert of.curable.keys() == {name for name, each in of.by_name.items() if not each.admitted}
    before = of.table.admissions
    by.filtered(FOUR, [*nodes.nodes])
    assert of.table.admissions == before
    # 400 nodes at 32 for each reading of the clock, the facts first and then the verdicts.
    assert len(refreshed) > 2 * 400 / 32 * 0.001 / SLICE_SECONDS


async def test_what_comes_after_the_verdicts_is_done_until_nothing_is_left() -> None:
    answers = [False, True]
    work = Prewarming(
        NodeFilter(fleet(1)), lambda: None, StrictClock(), lambda _pod, _may_go_on: answers.pop(0)
    )
    task = asyncio.create_task(work.run())
    try:
        work.seen(FOUR)
        await turns(lambda: work.shapes_done == 1)
    finally:
        await ended(task)
    assert answers == []


async def test_facts_are_read_once_the_cluster_is_known() -> None:
    nodes = fleet(3)
    by = NodeFilter(nodes)
    work = Prewarming(by, lambda: None, StrictClock())
    task = asyncio.create_task(work.run())
    try:
        work.start()
        await turns(lambda: len(by.memory.of(FOUR.pod).reader._by_name) == 3)
    finally:
        await ended(task)
    assert work.shapes_done == 0


def test_no_more_shapes_are_kept_in_mind_than_is_sane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prewarming, "_MOST_WAITING", 1)
    work = Prewarming(NodeFilter(fleet(1)), lambda: None, StrictClock())
    work.seen(FOUR)
    work.seen(ClusterPod(pod=gpu_fleet.pod("two", 2)))
    assert [each.pod.uid for each in work._waiting.values()] == ["four"]
