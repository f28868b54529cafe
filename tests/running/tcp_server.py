"""A listening port whose connections are all over when it stops.

A server of asyncio that is closed leaves who serves its connections at work. What the end of the
event loop cancels before its first step never closes its socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Callable, Coroutine
from typing import Any, Final

from numalet.io.tasks import ended

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]

_RESET: Final = struct.pack("ii", 1, 0)
_PATIENCE_SECONDS: Final = 200.0
_TURNS: Final = 4
"""In so many turns of its loop asyncio makes or closes a connection."""


class TcpServer:
    """Serves every connection in a task of its own."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self, port: int = 0, tls: ssl.SSLContext | None = None) -> int:
        """Listen on loopback; the port, which is a free one if none was given."""
        self._server = await asyncio.start_server(
            self._begin, "127.0.0.1", port, ssl=tls, reuse_address=True
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def unused(self) -> None:
        """Wait until no client is connected."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while self._serving:
                await asyncio.wait(self._serving)

    async def stop(self) -> None:
        """Listen no more, reset every connection, and wait until nothing serves one."""
        assert self._server is not None
        loop = asyncio.get_running_loop()
        for listener in self._server.sockets:
            loop.remove_reader(listener.fileno())
        # asyncio drops a socket that it has accepted if the server is closed before its next turns.
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self._server.close()
        for writer in self._open:
            reset(writer)
        await ended(*self._serving)
        # A connection that was being made is closed in a later turn.
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        task = asyncio.create_task(self._served(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve(reader, writer)
        finally:
            self._open.discard(writer)


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with RST, as a host does that knows nothing of it."""
    own: socket.socket | None = writer.get_extra_info("socket")
    if own is not None:
        with contextlib.suppress(OSError):
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
