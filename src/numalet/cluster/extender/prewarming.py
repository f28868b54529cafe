"""Decide on the shapes of waiting pods while the extender is idle.

The first question about a shape is expensive: every state of a node has to be decided. The watch
shows a waiting pod before the scheduler's call. This time is used in slices of a few milliseconds,
so that a call never waits longer.
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
"""Limit of waiting shapes; others are decided during the scheduler's call."""


class Prewarming:
    """The shapes that wait for a decision. Belongs to one event loop."""

    def __init__(
        self,
        by: NodeFilter,
        refresh: Callable[[], None],
        clock: Clock,
        then: Callable[[ClusterPod, Callable[[], bool]], bool] = lambda _pod, _may_go_on: True,
    ) -> None:
        self.shapes_done = 0
        """Number of shapes decided in advance."""
        self._filter = by
        self._refresh = refresh
        self._clock = clock
        self._then = then
        self._waiting: OrderedDict[ShapeKey, ClusterPod] = OrderedDict()
        self._news = asyncio.Event()

    def seen(self, pod: ClusterPod) -> None:
        key = shapes.shape_key(pod.pod)
        if key not in self._waiting and len(self._waiting) < _MOST_WAITING:
            self._waiting[key] = pod
            self._news.set()

    def start(self) -> None:
        """Begin reading, as the cluster is known from now on."""
        self._news.set()

    async def run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            await self._in_slices(self._filter.memory.prepare)
            while self._waiting:
                # Oldest first, as the scheduler's queue is sorted by arrival within one priority.
                _, pod = self._waiting.popitem(last=False)
                await self._in_slices(partial(self._filter.decide_ahead, pod))
                await self._in_slices(partial(self._then, pod))
                self.shapes_done += 1

    async def _in_slices(self, work: Callable[[Callable[[], bool]], bool]) -> None:
        """Do some work in slices until it is done, with requests in between."""
        is_done = False
        while not is_done:
            self._refresh()
            is_done = work(partial(self._is_before, self._clock.now_seconds() + SLICE_SECONDS))
            # Gives the event loop to requests that arrived during the slice.
            await asyncio.sleep(0)

    def _is_before(self, moment_seconds: float) -> bool:
        return self._clock.now_seconds() < moment_seconds
