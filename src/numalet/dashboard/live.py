"""Live updates: ``/events`` sends the current revision as server-sent events.

An event contains only ``{"revision": N}``; a page that shows another one then loads itself again.
The last event is repeated every second: a page that gets none for three seconds says that it is
stale.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from numalet.core.cluster.cluster import Cluster
from numalet.core.model.value import Mutable, Value
from numalet.dashboard import entrance
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.entrance import OpenSession
from numalet.dashboard.sources import OutOfDate
from numalet.io.tasks import ended


class Revisions(Mutable):
    shown: ShownSources
    _cluster: Cluster | None = None
    _out_of_date: OutOfDate | None = None
    _clusters: int = 0

    def now(self) -> int:
        fleet, node = self.shown.fleet, self.shown.node
        if fleet is not None:
            cluster, out_of_date = fleet.cluster(), fleet.out_of_date
            # Sources return the same object until something changes, so identity is enough.
            if cluster is not self._cluster or out_of_date is not self._out_of_date:
                self._cluster, self._out_of_date = cluster, out_of_date
                self._clusters += 1
        return self._clusters + (0 if node is None else node.view().revision)

    async def changed(self) -> None:
        """Wait until the revision may have changed."""
        sources = [each for each in (self.shown.node, self.shown.fleet) if each is not None]
        waiting = [asyncio.create_task(each.changed()) for each in sources]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            await ended(*waiting)


MOST_CLIENTS: Final = 256
MOST_OF_A_SESSION: Final = 16
TICK_SECONDS: Final = 0.2
HEARTBEAT_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 10.0
"""How long a client may leave data unread before it is dropped."""

_RETRY_MS: Final = 2000
_BUSY: Final = {"Retry-After": "10"}
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
]


class LivePace(Value, kw_only=True):
    """Intervals in seconds."""

    tick: float = TICK_SECONDS
    heartbeat: float = HEARTBEAT_SECONDS
    patience: float = PATIENCE_SECONDS


class LiveEvents:
    """The stream of revisions, as an ASGI application."""

    def __init__(self, revisions: Revisions, pace: LivePace | None = None) -> None:
        self._revisions = revisions
        self._pace = pace or LivePace()
        self._clients: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = entrance.session_of(scope)
        of_it = self._clients[session.id]
        # Each browser has a connection: limits keep one session from using all of them.
        if of_it >= MOST_OF_A_SESSION or self._clients.total() >= MOST_CLIENTS:
            busy = PlainTextResponse("enough browsers follow\n", 503, _BUSY)
            await busy(scope, receive, send)
            return
        self._clients[session.id] += 1
        try:
            await _Client(self._revisions, self._pace, session, send).follow(receive)
        finally:
            self._clients[session.id] -= 1
            self._clients += Counter()  # Drops sessions without clients.


class _Client(Mutable):
    revisions: Revisions
    pace: LivePace
    session: OpenSession
    _send: Send

    async def follow(self, receive: Receive) -> None:
        """Send every revision until the client leaves, stops reading, or loses its session."""
        gone = asyncio.create_task(_disconnected(receive))
        news = asyncio.create_task(self.revisions.changed())
        sent: int | None = None
        try:
            await self._sent(type="http.response.start", status=200, headers=_HEADERS)
            await self._write(f"retry: {_RETRY_MS}\n\n")
            # The task must be waiting before the revision is read, or a change in between is
            # missed.
            await asyncio.sleep(0)
            while not gone.done() and self.session.use():
                revision = self.revisions.now()
                if revision != sent:
                    await self._write(f'data: {{"revision": {revision}}}\n\n')
                    sent = revision
                done, _ = await asyncio.wait(
                    [gone, news],
                    timeout=self.pace.heartbeat,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not done:
                    sent = None
                elif news in done:
                    news.result()
                    news = asyncio.create_task(self.revisions.changed())
                    # Changes before the next tick share one event. The loop reads the revision
                    # again after the tick, so the last change is never lost.
                    await asyncio.wait([gone], timeout=self._until_tick())
            await self._sent(type="http.response.body", body=b"")
        except TimeoutError:
            return
        finally:
            await ended(gone, news)

    def _until_tick(self) -> float:
        # Ticks are the same for all clients, so that one rendering serves all of them.
        return self.pace.tick - asyncio.get_running_loop().time() % self.pace.tick

    async def _write(self, text: str) -> None:
        await self._sent(type="http.response.body", body=text.encode(), more_body=True)

    async def _sent(self, **message: Any) -> None:
        async with asyncio.timeout(self.pace.patience):
            await self._send(message)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
