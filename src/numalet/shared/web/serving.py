"""Serves an ASGI application on a listening socket, within the limits of this room.

uvicorn has no documented settings for these limits, so parts of it are overridden here and in
``connection``: ``docs/decisions/0016`` says which release they were tried with and which test
watches them.
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
"""A connection may wait for this time between two requests."""

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
    """Serve an application on a listening socket until the end of the block; then close it.

    ``idle_seconds`` is how long a connection may wait between two requests: clients that keep
    connections for their next request must not find them closed by then. At the end requests that
    have come are answered, for ``stop_seconds`` at most. ``most`` connections are served.
    """
    server = _Server(_config(app, idle_seconds, stop_seconds or STOP_SECONDS))
    server.acceptor = Acceptor(listener, server.make_connection, tls, most)
    life = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        # A client that connects before the server has begun waits in the backlog.
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
        # Bugs are reported by the application; the log has a form of its own.
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
    """A server that leaves signals to others, and does not wait for answers without an end."""

    acceptor: Acceptor

    def make_connection(self) -> Connection:
        """The protocol of a new connection."""
        loop = asyncio.get_running_loop()
        return Connection(self.config, self.server_state, self.lifespan.state, loop)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.servers = []
        self.acceptor.start()
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # A client that connects later would wait for its answer, and the stop for the client.
        await self.acceptor.stop()
        for connection in self._made():
            connection.end_stream()
        await super().shutdown(sockets)
        # Closing one waits until its client has read all that was written.
        for connection in self._made():
            connection.transport.abort()

    def _made(self) -> list[Connection]:
        connections = self.server_state.connections
        return [each for each in connections if isinstance(each, Connection)]

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
