"""A cache of rendered pages: after a change, all clients load them at the same moment.

A page is cached by path and query. It has an ETag, so a client that has it gets a 304. Pages do not
depend on the user.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from numalet.core.model.value import Value

# Ages and logs change without a new revision, so a page is kept for this time at most.
KEPT_SECONDS: Final = 2.0
MOST_PAGES: Final = 64
LARGEST_BYTES: Final = 4 * 1024 * 1024

_NOT_PAGES: Final = ("/events", "/static/")
_DETERMINING: Final = ("accept", "x-requested-with")
"""Request headers that may change the answer."""


class _Page(Value):
    revision: int
    made_at: float
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'


class RenderedPages:
    def __init__(
        self, app: ASGIApp, revision: Callable[[], int], clock: Callable[[], float]
    ) -> None:
        self._app = app
        self._revision = revision
        self._clock = clock
        self._pages: OrderedDict[tuple[str, ...], _Page] = OrderedDict()
        self._making: dict[tuple[str, ...], asyncio.Lock] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = "" if scope["type"] != "http" else scope["path"].removeprefix(scope["root_path"])
        if scope.get("method") != "GET" or path.startswith(_NOT_PAGES):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        query = scope["query_string"].decode("latin-1")
        key = (path, query, *(headers.get(name, "") for name in _DETERMINING))
        # Clients that want the same page wait for the first one to render it.
        lock = self._making.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                page = self._kept(key)
                if page is None:
                    page = await self._made(key, scope, receive, send)
        finally:
            if not lock.locked():
                self._making.pop(key, None)
        if page is not None:
            await _answer(page, headers)(scope, receive, send)

    def _kept(self, key: tuple[str, ...]) -> _Page | None:
        page = self._pages.get(key)
        if page is None or page.revision != self._revision():
            return None
        return page if self._clock() - page.made_at < KEPT_SECONDS else None

    async def _made(
        self, key: tuple[str, ...], scope: Scope, receive: Receive, send: Send
    ) -> _Page | None:
        """Render and cache the page, unless the answer was sent without caching."""
        # Read before rendering: a change meanwhile must make this page outdated.
        revision, made_at = self._revision(), self._clock()
        maker = _Maker(send)
        await self._app(scope, receive, maker)
        if maker.start is None:
            return None
        page = _Page(revision, made_at, tuple(maker.start["headers"]), b"".join(maker.pieces))
        if len(page.body) <= LARGEST_BYTES:
            self._pages[key] = page
            self._pages.move_to_end(key)
            while len(self._pages) > MOST_PAGES:
                self._pages.popitem(last=False)
        return page


class _Maker:
    """Buffers a page while it is rendered; passes other answers on immediately."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.start: Message | None = None
        self.pieces: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(scope=message)
            is_page = headers.get("content-type", "").startswith("text/html")
            if message["status"] == 200 and is_page and "set-cookie" not in headers:
                self.start = message
        if self.start is None:
            await self._send(message)
        elif message["type"] == "http.response.body":
            self.pieces.append(message.get("body", b""))


def _answer(page: _Page, asked: Headers) -> Response:
    etag = page.etag
    known = [each.strip() for each in asked.get("if-none-match", "").split(",")]
    is_known = etag in known or f"W/{etag}" in known
    response = Response(b"" if is_known else page.body, 304 if is_known else 200)
    headers = MutableHeaders(raw=[*page.headers])
    del headers["content-length"]
    for name, value in headers.items():
        response.headers[name] = value
    response.headers["etag"] = etag
    return response
