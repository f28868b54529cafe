"""A source with a history: a thread stores its figures regularly and at each change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import replace
from numalet.dashboard import history_points, node_views, why
from numalet.dashboard.history import NodeHistory
from numalet.dashboard.history_points import DashboardHistoryStopped
from numalet.dashboard.sources import (
    Happened,
    HistoryEvent,
    HistoryPoint,
    NodeSource,
    NodeView,
    SourceKind,
)

SAMPLE_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 1.0
"""Minimum time between two points."""


@dataclass(slots=True)
class RememberingNode:
    source: NodeSource
    kept: NodeHistory
    _noted: tuple[NodeView, list[Finding], NodeView] | None = field(default=None, init=False)

    def view(self) -> NodeView:
        view, wrong = self.source.view(), self._wrong()
        if not wrong:
            return view
        # The view has to be the same object while nothing changes, or every client reloads.
        if self._noted is None or self._noted[0] is not view or self._noted[1] != wrong:
            notes = (*view.notes, *map(node_views.note, wrong))
            self._noted = (view, wrong, replace(view, notes=notes))
        return self._noted[2]

    def _wrong(self) -> list[Finding]:
        wrong: list[Finding] = []
        if self.kept.set_aside is not None:
            wrong.append(self.kept.set_aside)
        if self.kept.problem:
            wrong.append(DashboardHistoryStopped(problem=self.kept.problem))
        return wrong

    async def changed(self) -> None:
        await self.source.changed()

    def history(self) -> Sequence[HistoryPoint]:
        return self.kept.points()

    def log_path(self, key: ContainerKey) -> Path | None:
        return self.source.log_path(key)


@contextlib.asynccontextmanager
async def remembering(
    source: NodeSource,
    path: Path | None,
    clock: Callable[[], datetime],
    sample_seconds: float = SAMPLE_SECONDS,
    pause_seconds: float = PAUSE_SECONDS,
    report_bug: Callable[[Exception], None] = lambda bug: None,
) -> AsyncIterator[RememberingNode]:
    """Store a history of the source in this file until the end of the block.

    A bug in it is reported to ``report_bug`` and never affects the server of the node.
    """
    node = RememberingNode(source, NodeHistory(path))
    first = source.view()
    # The pods of a simulated node were decided on when it was made, so its history begins before.
    before = replace(first, rows=()) if first.kind is SourceKind.SIMULATED else first
    await asyncio.to_thread(node.kept.open)
    try:
        async with asyncio.TaskGroup() as group:
            sampler = _Sampler(node, clock, sample_seconds, before)
            task = group.create_task(_follow(sampler, pause_seconds, report_bug))
            try:
                yield node
            finally:
                task.cancel()
    finally:
        await asyncio.to_thread(node.kept.close)


@dataclass(slots=True)
class _Sampler:
    node: RememberingNode
    clock: Callable[[], datetime]
    sample_seconds: float
    before: NodeView
    _last: HistoryPoint | None = field(default=None, init=False)

    async def sample(self) -> None:
        view, now = self.node.source.view(), self.clock()
        explained = await asyncio.to_thread(why.with_causes, self.before, view)
        point = history_points.point(self.before, explained, now)
        last = self._last
        if last is None:
            kept = self.node.kept.points()
            words = f"The last figures before are of {kept[-1].at:%H:%M:%S} (UTC)." if kept else ""
            began = HistoryEvent(now, Happened.BEGAN, "", words)
            point = replace(point, events=(began, *point.events))
        is_due = last is None or (now - last.at).total_seconds() >= self.sample_seconds
        if last is None or is_due or history_points.differs(last, point):
            await asyncio.to_thread(self.node.kept.add, point)
            self._last = point
        self.before = view

    async def wait(self) -> None:
        if self.node.source.view() is self.before:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.sample_seconds):
                    await self.node.source.changed()


async def _follow(
    sampler: _Sampler, pause_seconds: float, report_bug: Callable[[Exception], None]
) -> None:
    reported = ""
    while True:
        try:
            await sampler.sample()
            await asyncio.sleep(pause_seconds)
            await sampler.wait()
        except Exception as bug:
            sampler.node.kept.problem = f"a bug in numalet: {bug!r}"
            # A repeated bug is reported once, so that it does not fill the log.
            if repr(bug) != reported:
                reported = repr(bug)
                report_bug(bug)
            await asyncio.sleep(sampler.sample_seconds)
