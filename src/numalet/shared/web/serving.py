"""Serves an ASGI application on a listening socket within limits.

uvicorn has no settings for these limits, so this package overrides internals;
``docs/decisions/0016`` names the tested release and the tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import uvicorn

from numalet.shared.web.accepting import MOST_CONNECTIONS, Acceptor
from numalet.shared.web.connection import Connection

IDLE_SECONDS: Final = 30.0
"""How long a connection may be idle between requests."""

STOP_SECONDS: Final = 2


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
