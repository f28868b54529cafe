"""An HTTP service: an ASGI application within limits; metrics, probes, errors of the event loop.

uvicorn has no settings for these limits, so this package overrides internals;
``docs/decisions/0016`` names the tested release and the tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from numalet.core.model.value import Mutable, field
from numalet.shared.web.accepting import MOST_CONNECTIONS, Acceptor
from numalet.shared.web.connection import Connection

IDLE_SECONDS: Final = 30.0
"""How long a connection may be idle between requests."""

STOP_SECONDS: Final = 2

Readiness = Callable[[], tuple[bool, str]]
"""Readiness and its text."""
LOG_EVERY_SECONDS: Final = 60.0
_MOST_KINDS: Final = 100


@contextlib.asynccontextmanager
async def serving(
    app: Any,
    listener: socket.socket,
    tls: ssl.SSLContext | None = None,
    *,
    idle_seconds: float = IDLE_SECONDS,
    stop_seconds: int | None = None,
    most: int = MOST_CONNECTIONS,
) -> AsyncIterator[None]:
    """Serve the application during the block, then close the socket.

    ``idle_seconds`` must exceed the clients' reuse time of connections. Pending requests are
    answered for ``stop_seconds``. ``most`` limits connections.
    """
    server = _Server(_config(app, idle_seconds, stop_seconds or STOP_SECONDS))
    server.acceptor = Acceptor(listener, server.make_connection, tls, most)
    life = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        # Clients that connect before the server starts wait in the backlog.
        yield
    finally:
        server.should_exit = True
        await life
        listener.close()


def _config(app: Any, idle_seconds: float, stop_seconds: int) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        log_config=None,
        # The application reports bugs; uvicorn's log format differs.
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=idle_seconds,  # type: ignore[arg-type]
        timeout_graceful_shutdown=stop_seconds,
        server_header=False,
    )
    config.load()
    return config


class _Server(uvicorn.Server):
    """A server without signal handlers that does not wait for endless responses."""

    acceptor: Acceptor

    def make_connection(self) -> Connection:
        loop = asyncio.get_running_loop()
        return Connection(self.config, self.server_state, self.lifespan.state, loop)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.servers = []
        self.acceptor.start()
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # A client that connects now would wait for a response, and the stop for the client.
        await self.acceptor.stop()
        for connection in self._made():
            connection.end_stream()
        await super().shutdown(sockets)
        # ``close`` waits until the client has read everything, so abort.
        for connection in self._made():
            connection.transport.abort()

    def _made(self) -> list[Connection]:
        connections = self.server_state.connections
        return [each for each in connections if isinstance(each, Connection)]

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _always() -> tuple[bool, str]:
    return True, "ok\n"


def pages_application(
    metrics: Callable[[], bytes],
    readiness: Readiness = _always,
    *,
    path: str = "/metrics",
    others: Iterable[Route] = (),
    in_thread: bool = False,
) -> Starlette:
    """An application with probes, metrics at ``path``, and ``others``.

    ``/healthz`` succeeds while the process works. ``in_thread`` is for slow metrics.
    """

    async def is_well(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def is_ready(request: Request) -> Response:
        is_so, text = readiness()
        return PlainTextResponse(text, HTTPStatus.OK if is_so else HTTPStatus.SERVICE_UNAVAILABLE)

    async def page(request: Request) -> Response:
        # Imported here, because the dashboard of a simulated node has no metrics, and works in an
        # installation without prometheus_client.
        from prometheus_client.exposition import CONTENT_TYPE_LATEST

        content = await asyncio.to_thread(metrics) if in_thread else metrics()
        return Response(content, media_type=CONTENT_TYPE_LATEST)

    of_service = [Route("/healthz", is_well), Route("/readyz", is_ready), Route(path, page)]
    made = Starlette(routes=[*others, *of_service])
    # Starlette redirects to the Host header, which the client controls.
    made.router.redirect_slashes = False
    return made


def loop_error_text(message: str, keys: Mapping[str, Any]) -> str:
    return " ".join([message, *(f"{key}={value}" for key, value in keys.items())])


class LoopLog(Mutable):
    """``handle`` is a loop's exception handler; ``write`` receives a line and its keys."""

    write: Callable[[str, Mapping[str, Any]], None]
    _last: dict[str, float] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log the error, or count it for the next line of its kind."""
        message, error = str(context.get("message", "an error")), context.get("exception")
        kind = f"{message} {type(error).__name__}" if error else message
        self._times[kind] = self._times.get(kind, 0) + 1
        now, last = loop.time(), self._last.get(kind)
        # Bounds the memory for messages that contain varying text.
        if last is None and len(self._last) >= _MOST_KINDS:
            return
        if last is None or now - last >= LOG_EVERY_SECONDS:
            self._say(now, kind, message, error)
        elif self._times[kind] == 1:
            at = last + LOG_EVERY_SECONDS
            loop.call_at(at, self._say, at, kind, message, error)

    def _say(self, now: float, kind: str, message: str, error: BaseException | None) -> None:
        times = self._times.pop(kind, 0)
        if not times:
            return
        self._last[kind] = now
        keys: dict[str, Any] = {"times": times}
        if error is not None:
            keys["err"] = repr(error)
            frames = traceback.extract_tb(error.__traceback__)[-3:]
            if frames and not isinstance(error, OSError):
                keys["where"] = " > ".join(f"{each.filename}:{each.lineno}" for each in frames)
        self.write(message, keys)
