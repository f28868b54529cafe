"""Server-sent events: what a client is sent, and which clients are not served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from numalet.dashboard import live
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.entrance import SESSION, OpenSession
from numalet.dashboard.live import LiveEvents, LivePace, Revisions
from numalet.io.tasks import ended, together
from running.dashboards import ChangingNode, node_view

_WITHIN_SECONDS = 60


class _Client:
    """One client of the stream; ``reads`` is cleared where it reads no more."""

    def __init__(self, session: str = "a") -> None:
        self.is_open = True
        self.scope = {
            "type": "http", "method": "GET", "path": "/events", "headers": [],
            SESSION: OpenSession(session, lambda: self.is_open),
        }  # fmt: skip
        self.reads = asyncio.Event()
        self.reads.set()
        self.gone = asyncio.Event()
        self.status = 0
        self.text = ""
        self.is_complete = False
        self._news = asyncio.Condition()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        await self.reads.wait()
        async with self._news:
            self.status = message.get("status", self.status)
            self.text += message.get("body", b"").decode()
            is_body = message["type"] == "http.response.body"
            self.is_complete = is_body and not message.get("more_body", False)
            self._news.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(_WITHIN_SECONDS), self._news:
            await self._news.wait_for(condition)


class _Bench:
    def __init__(self, **pace: float) -> None:
        self.node = ChangingNode(node_view())
        shown = ShownSources(
            node=self.node, fleet=None, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)
        )
        self.events = LiveEvents(Revisions(shown), LivePace(**{"tick": 0.01, **pace}))

    async def serve(self, client: _Client) -> None:
        await self.events(client.scope, client.receive, client.send)

    @asynccontextmanager
    async def following(self, *clients: _Client) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self.serve(each)) for each in clients]
        try:
            for each in clients:
                await each.until(lambda each=each: "data:" in each.text)  # type: ignore[misc]
            yield
        finally:
            await ended(*tasks)


async def test_the_revision_now_and_every_later_one() -> None:
    bench, client = _Bench(), _Client()
    async with bench.following(client):
        assert client.status == 200
        assert client.text == 'retry: 2000\n\ndata: {"revision": 1}\n\n'
        for revision in (2, 3):
            bench.node.show(node_view(revision=revision))
            await client.until(lambda: f'data: {{"revision": {revision}}}\n\n' in client.text)  # noqa: B023


async def test_many_changes_are_few_events_and_the_last_is_among_them() -> None:
    bench, client = _Bench(tick=0.2), _Client()
    view = node_view()
    async with bench.following(client):
        began = asyncio.get_running_loop().time()
        for revision in range(2, 1002):
            bench.node.show(node_view(revision=revision, node=view.node, chart=view.chart))
            await asyncio.sleep(0)
        await client.until(lambda: '"revision": 1001}' in client.text)
        seconds = asyncio.get_running_loop().time() - began
        assert client.text.count("data:") <= 2 + seconds / 0.2


async def test_the_last_event_again_where_nothing_changes() -> None:
    bench, client = _Bench(heartbeat=0.01), _Client()
    async with bench.following(client):
        await client.until(lambda: client.text.count('data: {"revision": 1}\n\n') > 2)


async def test_it_ends_with_the_client_and_with_the_session() -> None:
    bench = _Bench(heartbeat=0.01)
    leaving, over = _Client(), _Client()
    async with asyncio.timeout(_WITHIN_SECONDS), together() as group:
        group.create_task(bench.serve(leaving))
        group.create_task(bench.serve(over))
        await leaving.until(lambda: "data:" in leaving.text)
        leaving.gone.set()
        over.is_open = False
    assert over.is_complete


async def test_a_client_that_does_not_read_is_dropped() -> None:
    bench, client = _Bench(heartbeat=0.01, patience=0.05), _Client()
    async with asyncio.timeout(_WITHIN_SECONDS), together() as group:
        group.create_task(bench.serve(client))
        await client.until(lambda: "data:" in client.text)
        client.reads.clear()
    assert not client.is_complete


async def test_clients_of_a_session_are_bounded() -> None:
    bench = _Bench()
    clients = [_Client() for _ in range(live.MOST_OF_A_SESSION)]
    async with bench.following(*clients):
        one_more = _Client()
        await bench.serve(one_more)
        assert one_more.status == 503
        async with bench.following(_Client("b")):
            pass
    async with bench.following(_Client()):
        pass


async def test_clients_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_CLIENTS", 3)
    bench = _Bench()
    async with bench.following(*(_Client(str(number)) for number in range(3))):
        one_more = _Client("x")
        await bench.serve(one_more)
        assert one_more.status == 503
