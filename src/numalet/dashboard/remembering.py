"""A source that remembers: figures of its node are kept every few seconds and at each change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from numalet.core.model.pod import ContainerKey
from numalet.dashboard import history_points
from numalet.dashboard.history import NodeHistory
from numalet.dashboard.sources import HistoryPoint, Level, NodeSource, NodeView, Note

SAMPLE_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 1.0
"""Between two points, however much changes."""


@dataclass(slots=True)
class RememberingNode:
    """The source of a node, with its history, and with a note while that can not be kept."""

    source: NodeSource
    kept: NodeHistory
    _noted: tuple[NodeView, str, NodeView] | None = field(default=None, init=False)

    def view(self) -> NodeView:
        """The view of the source, and what is wrong with the history."""
        view, problem = self.source.view(), self.kept.problem
        if not problem:
            return view
        if self._noted is None or self._noted[0] is not view or self._noted[1] != problem:
            note = Note(
                Level.WARNING, "dashboard/history-stopped", problem,
                "It goes on by itself when there is room, and the file can be written again.",
            )  # fmt: skip
            self._noted = (view, problem, replace(view, notes=(*view.notes, note)))
        return self._noted[2]

    async def changed(self) -> None:
        """Wait until the source has another view."""
        await self.source.changed()

    def history(self) -> Sequence[HistoryPoint]:
        """What was kept."""
        return self.kept.points()

    def log_path(self, key: ContainerKey) -> Path | None:
        """As the source has it."""
        return self.source.log_path(key)


@contextlib.asynccontextmanager
async def remembering(
    source: NodeSource,
    path: Path | None,
    clock: Callable[[], datetime],
    sample_seconds: float = SAMPLE_SECONDS,
    pause_seconds: float = PAUSE_SECONDS,
) -> AsyncIterator[RememberingNode]:
    """The source with a history in this file, kept until the end of the block.

    All reading and writing is done in a thread, one thing at a time.
    """
    node = RememberingNode(source, NodeHistory(path))
    await asyncio.to_thread(node.kept.open)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_follow(node, source.view(), clock, sample_seconds, pause_seconds))
        try:
            yield node
        finally:
            task.cancel()
    await asyncio.to_thread(node.kept.close)


async def _follow(
    node: RememberingNode,
    before: NodeView,
    clock: Callable[[], datetime],
    sample_seconds: float,
    pause_seconds: float,
) -> None:
    last: HistoryPoint | None = None
    while True:
        view, now = node.source.view(), clock()
        point = history_points.point(before, view, now)
        is_due = last is None or (now - last.at).total_seconds() >= sample_seconds
        if last is None or is_due or history_points.differs(last, point):
            await asyncio.to_thread(node.kept.add, point)
            last = point
        before = view
        await asyncio.sleep(pause_seconds)
        if node.source.view() is view:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(sample_seconds):
                    await node.source.changed()
