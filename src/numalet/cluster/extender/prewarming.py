"""Decides on the shapes of waiting pods before the scheduler asks, while nothing is to be answered.

The first question about a shape is the dear one: every state of a node has to be decided. A pod is
seen waiting a moment before the scheduler comes to it, or minutes before if the queue is long. That
time is used, a few milliseconds in a row, so that a question never waits longer than that.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.shapes import ShapeKey
from numalet.insight.scheduling.filtering import NodeFilter
from numalet.io.kube_api.pace import Clock

SLICE_SECONDS: Final = 0.005
_MOST_WAITING: Final = 64
"""More shapes than this are not kept in mind; the scheduler's question decides on the others."""


class Prewarming:
    """The shapes that wait to be decided. Belongs to one event loop."""

    def __init__(
        self,
        by: NodeFilter,
        refresh: Callable[[], None],
        clock: Clock,
        then: Callable[[ClusterPod, Callable[[], bool]], bool] = lambda _pod, _may_go_on: True,
    ) -> None:
        self.shapes_done = 0
        """How many shapes were decided on in advance."""
        self._filter = by
        self._refresh = refresh
        self._clock = clock
        self._then = then
        self._waiting: OrderedDict[ShapeKey, ClusterPod] = OrderedDict()
        self._news = asyncio.Event()

    def seen(self, pod: ClusterPod) -> None:
        """A pod waits for a node."""
        key = shapes.shape_key(pod.pod)
        if key not in self._waiting and len(self._waiting) < _MOST_WAITING:
            self._waiting[key] = pod
            self._news.set()

    def start(self) -> None:
        """The cluster is known from now on: there is something to read."""
        self._news.set()

    async def run(self) -> None:
        """Decide on what waits, without end."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self._in_slices(self._filter.memory.prepare)
            while self._waiting:
                _, pod = self._waiting.popitem(last=False)
                await self._in_slices(partial(self._filter.decide_ahead, pod))
                await self._in_slices(partial(self._then, pod))
                self.shapes_done += 1

    async def _in_slices(self, work: Callable[[Callable[[], bool]], bool]) -> None:
        """Do some work until it says that nothing is left; requests have their turn in between."""
        is_done = False
        while not is_done:
            self._refresh()
            is_done = work(partial(self._is_before, self._clock.now_seconds() + SLICE_SECONDS))
            await asyncio.sleep(0)

    def _is_before(self, moment_seconds: float) -> bool:
        return self._clock.now_seconds() < moment_seconds
