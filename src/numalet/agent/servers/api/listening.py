"""Serves the API on a Unix socket of its owner's, and bounds what clients can take.

The socket appears under its name at once and with mode 0600: it is made under another name first.
Who may connect to it may start programs as the agent's user, so its folder and an old socket
in its place must be the agent's own too.

At most ``MOST_CONNECTIONS`` are served; one more is closed with a 503, so that ten thousand of
them cost nothing. A connection on which no request comes is closed after a while.

uvicorn has no documented settings for this, so parts of it are overridden here:
``docs/decisions/0016`` says which release they were tried with and which test watches them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import ssl
import stat
from asyncio.trsock import TransportSocket
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from numalet.agent.findings.servers import ApiSocket
from numalet.agent.servers.endpoints import LONGEST_PATH_BYTES
from numalet.core.model.findings import BadInput, Location
from numalet.io import os_problem

MOST_CONNECTIONS: Final = 4096
AT_ONE_GO: Final = 256
"""So many are accepted before what came on others is read."""

MOST_WAITING: Final = 4096
"""So many the kernel holds until their turn comes."""

PATIENCE_SECONDS: Final = 30
"""So long a connection may wait before its first request, and between two."""

STOP_SECONDS: Final = 2

LARGEST_HEAD_BYTES: Final = 64 * 1024
"""Of the first line and the headers of a request."""

_TURNS: Final = 4
"""In so many turns of its loop asyncio makes a connection of what it accepted."""

_TOO_LONG: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n"
    b"connection: close\r\n\r\n"
)
_BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\n"
    b"connection: close\r\n\r\n"
)


class ListeningSocket(socket.socket):
    """A listening socket whose queue is longer than what is accepted from it at one go."""

    def listen(self, backlog: int = 0, /) -> None:
        """Listen; ``backlog`` is what is accepted at one go; servers mean the queue by it too."""
        super().listen(max(backlog, MOST_WAITING))


@contextlib.asynccontextmanager
async def opened(app: Any, path: Path) -> AsyncIterator[None]:
    """Serve an application on a socket at this path until the end of the block.

    Raises:
        BadInput: the socket can not be made there, or is not only ours.
    """
    listener = _bound(path)
    try:
        async with serving(app, listener):
            yield
    finally:
        _remove(path)


@contextlib.asynccontextmanager
async def serving(
    app: Any,
    listener: socket.socket,
    tls: ssl.SSLContext | None = None,
    patience_seconds: int | None = None,
    stop_seconds: int | None = None,
) -> AsyncIterator[None]:
    """Serve an application on a listening socket until the end of the block; then close it.

    ``patience_seconds`` is how long a connection may wait for a request, if not as long as usual:
    clients that keep connections for their next request must not find them closed by then. At the
    end requests that have come are answered, for ``stop_seconds`` at most, if not as usual.
    """
    server = _Server(_config(app, tls, patience_seconds, stop_seconds))
    life = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        # A client that connects before the server has begun waits in the backlog.
        yield
    finally:
        server.should_exit = True
        await life
        listener.close()


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _config(
    app: Any, tls: ssl.SSLContext | None, patience_seconds: int | None, stop_seconds: int | None
) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=_Bounded,
        ws="none",
        lifespan="off",
        log_config=None,
        # Bugs are reported by the application; the log has a form of its own.
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        backlog=AT_ONE_GO,
        timeout_keep_alive=patience_seconds or PATIENCE_SECONDS,
        timeout_graceful_shutdown=stop_seconds or STOP_SECONDS,
        server_header=False,
    )
    config.load()
    # Its own settings make a context of files alone, until releases that are not everywhere.
    config.ssl = tls
    return config


class _Server(uvicorn.Server):
    """A server that leaves signals to the agent, and does not wait for answers without an end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await accept_no_more(sockets or [])
        for connection in self._bounded():
            connection.end_stream()
        await super().shutdown(sockets)
        # Closing one waits until its client has read all that was written.
        for connection in self._bounded():
            connection.transport.abort()

    def _bounded(self) -> list[_Bounded]:
        connections = self.server_state.connections
        return [each for each in connections if isinstance(each, _Bounded)]

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Bounded(HttpToolsProtocol):
    """One connection: if there is still room for it, as long as something comes on it.

    The parser takes a head of any length, so what came of one is counted here.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._heads = 0
        self._head_bytes = 0
        self._in_body = False
        if len(self.connections) > _room():
            transport.write(_BUSY)
            transport.close()
            return
        self._patience = self.loop.call_later(self.timeout_keep_alive, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        patience: asyncio.TimerHandle | None = getattr(self, "_patience", None)
        if patience is not None:
            patience.cancel()

    def data_received(self, data: bytes) -> None:
        heads, was_in_body = self._heads, self._in_body
        super().data_received(data)
        if self._heads != heads or was_in_body or self._in_body:
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > LARGEST_HEAD_BYTES:
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._heads += 1
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def end_stream(self) -> None:
        """Close a connection whose answer has begun and has not ended."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and cycle.response_started and not cycle.response_complete:
            self.transport.close()

    def _give_up(self) -> None:
        """Close a connection that has not brought a whole head yet."""
        if not self._heads and not self.transport.is_closing():
            self.transport.close()


async def accept_no_more(listeners: Iterable[socket.socket | TransportSocket]) -> None:
    """Make connections of what was accepted, and accept nothing more.

    A stop closes the connections that there are when it begins: the client of one that is made
    a moment later would wait for its answer, and the stop for the client. A server of asyncio that
    is closed in between drops the socket (CPython 3.11, ``asyncio.base_events.Server._attach``).
    """
    loop = asyncio.get_running_loop()
    for listener in listeners:
        loop.remove_reader(listener.fileno())
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def _room() -> int:
    """How many connections are served: half of the files that may be open are for others."""
    return min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


def _bound(path: Path) -> socket.socket:
    """A listening socket under this name."""
    if len(os.fsencode(path)) > LONGEST_PATH_BYTES - len(".new."):
        raise _unusable(path, f"the name is longer than {LONGEST_PATH_BYTES} bytes")
    listener = ListeningSocket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = path.with_name(f".{path.name}.new")
    try:
        _check_owner(path)
        fresh.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            listener.bind(os.fspath(fresh))
        finally:
            os.umask(before)
        listener.listen()
        fresh.rename(path)
    except OSError as error:
        listener.close()
        raise _unusable(path, os_problem.text(error)) from None
    except BadInput:
        listener.close()
        raise
    return listener


def _check_owner(path: Path) -> None:
    """No other user may own the folder or what is in the socket's place, nor write to it."""
    folder = path.parent.stat()
    if folder.st_uid not in (os.geteuid(), 0):
        raise _unusable(path, f"its folder belongs to the user {folder.st_uid}")
    if folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not folder.st_mode & stat.S_ISVTX:
        raise _unusable(path, "its folder can be written by others")
    try:
        there = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(there.st_mode):
        raise _unusable(path, "something that is no socket has its name")
    if there.st_uid != os.geteuid():
        raise _unusable(path, f"a socket of the user {there.st_uid} has its name")


def _unusable(path: Path, problem: str) -> BadInput:
    return BadInput([ApiSocket(problem=problem, where=Location(str(path)))])
