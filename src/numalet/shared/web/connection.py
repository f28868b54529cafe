"""An HTTP connection with limits for time and size of requests.

The parser accepts heads of any length and any number of Host headers, so both are checked here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from enum import IntEnum
from http import HTTPStatus
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

LARGEST_HEAD_BYTES: Final = 64 * 1024
"""Limit for request line and headers."""
REQUEST_SECONDS: Final = 30.0
"""From first to last byte of a request, and from the connection to the first byte."""
PROBES: Final = ("/healthz", "/livez", "/readyz")

_HOST: Final = re.compile(rb"[A-Za-z0-9._~%:\[\]-]*")
_TOO_LONG: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n"
    b"connection: close\r\n\r\n"
)
_TOO_LATE: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Rank(IntEnum):
    """State of a connection; the server closes lower ones first."""

    WAITS = 0
    """Waits for the rest of a request, or for the next one."""
    STALLED = 1
    """The client does not read the response."""
    ANSWERED = 2


def _nothing() -> None:
    pass


class Connection(HttpToolsProtocol):
    """``requested`` is called for each complete request, ``lost`` at the end.

    With ``for_probes``, other requests are refused.
    """

    for_probes = False
    requested: Callable[[], None] = staticmethod(_nothing)
    lost: Callable[[], None] = staticmethod(_nothing)
    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _heads = 0
    _in_body = False
    _in_message = False
    _is_stalled = False

    @property
    def rank(self) -> Rank:
        if self._is_idle or self.cycle.more_body:
            return Rank.WAITS
        return Rank.STALLED if self._is_stalled else Rank.ANSWERED

    @property
    def _is_idle(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._await_nothing()
        self.lost()

    def data_received(self, data: bytes) -> None:
        heads, was_in_body = self._heads, self._in_body
        super().data_received(data)
        # The parser may have rejected the data already.
        if self.transport.is_closing():
            return
        if (self._in_message or self._is_idle) and self._deadline is None:
            self._await_rest()
        if self._heads != heads or was_in_body or self._in_body:
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > LARGEST_HEAD_BYTES:
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        self._in_message = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._heads += 1
        self._in_body = True
        app = self.app
        try:
            # Replace the application for this request only, so that uvicorn sends the refusal.
            self.app = self._refusal() or app
            super().on_headers_complete()
        finally:
            self.app = app

    def on_message_complete(self) -> None:
        self._in_message = self._in_body = False
        self._await_nothing()
        super().on_message_complete()
        self.requested()

    def pause_writing(self) -> None:
        self._is_stalled = True
        super().pause_writing()

    def resume_writing(self) -> None:
        self._is_stalled = False
        super().resume_writing()

    def end_stream(self) -> None:
        """Close a connection with an unfinished response."""
        if not self._is_idle and self.cycle.response_started:
            self.transport.close()

    def _refusal(self) -> ASGIApp | None:
        """A refusal instead of the application's response."""
        hosts = [value.strip() for name, value in self.headers if name == b"host"]
        least = 1 if self.parser.get_http_version() == "1.1" else 0
        # A proxy and this server could otherwise pick different Host headers.
        if not least <= len(hosts) <= 1 or not all(map(_HOST.fullmatch, hosts)):
            return _answer(HTTPStatus.BAD_REQUEST, "a request has one Host header\n")
        if self.for_probes and self.url.partition(b"?")[0].decode("latin-1") not in PROBES:
            return _answer(HTTPStatus.SERVICE_UNAVAILABLE, "there are too many connections\n")
        return None

    def _await_rest(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _await_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        """Close a connection without a timely request."""
        if self._in_message and (self._is_idle or not self.cycle.response_started):
            self.transport.write(_TOO_LATE)
        # ``close`` waits until the client has read the buffer, which a stalled client never does.
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()


def _answer(status: HTTPStatus, text: str) -> ASGIApp:
    headers = {"connection": "close"}
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers["retry-after"] = "1"
    return Response(text, status, headers, "text/plain")
