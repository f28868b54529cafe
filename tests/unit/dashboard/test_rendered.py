"""Pages are made once for all who ask at the same moment, and again where they differ."""

from __future__ import annotations

import asyncio

import httpx
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from numalet.dashboard import rendered
from numalet.dashboard.rendered import RenderedPages


class _Bench:
    def __init__(self) -> None:
        self.made: list[str] = []
        self.revision, self.now = 1, 0.0
        self.status, self.size = 200, 1
        self.app = RenderedPages(self._answer, lambda: self.revision, lambda: self.now)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        self.made.append(str(request.url.path))
        await asyncio.sleep(0)
        text = f"{request.url.query} {self.revision} " + "x" * self.size
        answer: Response = HTMLResponse(text, self.status, {"X-Guard": "on"})
        if request.url.path.endswith("text"):
            answer = PlainTextResponse(text)
        await answer(scope, receive, send)

    def client(self) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app)
        return httpx.AsyncClient(transport=transport, base_url="http://dashboard")


async def test_one_page_for_all() -> None:
    bench = _Bench()
    async with bench.client() as client, asyncio.TaskGroup() as group:
        asked = [group.create_task(client.get("/node?zoom=0")) for _ in range(50)]
    answers = [each.result() for each in asked]
    assert {each.text for each in answers} == {"zoom=0 1 x"}
    assert {each.headers["x-guard"] for each in answers} == {"on"}
    assert len({each.headers["etag"] for each in answers}) == 1
    assert bench.made == ["/node"]


async def test_another_query_revision_or_moment_is_another_page() -> None:
    bench = _Bench()
    async with bench.client() as client:
        for query, revision, now in (("a", 1, 0.0), ("b", 1, 0.0), ("b", 2, 0.0), ("b", 2, 2.0)):
            bench.revision, bench.now = revision, now
            for _ in range(2):
                assert (await client.get(f"/node?{query}")).text == f"{query} {revision} x"
    assert len(bench.made) == 4


async def test_who_has_the_page_gets_a_304() -> None:
    bench = _Bench()
    async with bench.client() as client:
        etag = (await client.get("/node")).headers["etag"]
        for known in (etag, f'"other", W/{etag}'):
            answer = await client.get("/node", headers={"If-None-Match": known})
            assert (answer.status_code, answer.content) == (304, b"")
        bench.revision = 2
        answer = await client.get("/node", headers={"If-None-Match": etag})
        assert answer.status_code == 200


async def test_what_is_no_page_is_not_kept() -> None:
    bench = _Bench()
    async with bench.client() as client:
        for _ in range(2):
            await client.get("/text")
            await client.post("/node")
            await client.get("/static/numalet.css")
        bench.status = 404
        for _ in range(2):
            assert (await client.get("/pods/a/b")).status_code == 404
    assert len(bench.made) == 8


async def test_pages_are_bounded() -> None:
    bench = _Bench()
    async with bench.client() as client:
        for number in range(rendered.MOST_PAGES + 1):
            await client.get(f"/node?{number}")
        await client.get("/node?1")
        assert len(bench.made) == rendered.MOST_PAGES + 1
        await client.get("/node?0")
        assert len(bench.made) == rendered.MOST_PAGES + 2
        bench.size = rendered.LARGEST_BYTES
        for _ in range(2):
            assert len((await client.get("/large")).content) > rendered.LARGEST_BYTES
        assert bench.made.count("/large") == 2
