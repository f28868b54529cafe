"""A proxy of TCP connections that breaks them as networks do."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from running.tcp_server import TcpServer, reset

_PIECE_BYTES: Final = 1 << 16


class BreakableProxy:
    """Relays to one server, and may stop doing so."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._server = TcpServer(self._relay)
        self.port = 0
        self._ends: set[asyncio.StreamWriter] = set()
        self._muted: set[asyncio.StreamWriter] = set()
        self._left_bytes: dict[asyncio.StreamWriter, int] = {}

    async def start(self) -> None:
        self.port = await self._server.start()

    async def stop(self) -> None:
        await self._server.stop()

    async def reset(self) -> None:
        """Reset every connection, at both ends."""
        for each in list(self._ends):
            reset(each)

    async def reset_later(self, size_bytes: int) -> None:
        """Reset every connection when it has been given so many more bytes, wherever that is."""
        for each in self._ends:
            self._left_bytes[each] = size_bytes

    async def mute(self) -> None:
        """Relay nothing more on any connection, and leave them open: nobody is at the other end."""
        self._muted |= self._ends

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        try:
            far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
            ends.add(far_writer)
            self._ends |= ends
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pass_on(reader, far_writer))
                tasks.create_task(self._pass_on(far_reader, writer))
        except (OSError, ExceptionGroup):
            pass  # One end went away, so the other does.
        finally:
            for each in ends:
                reset(each)
            self._ends -= ends
            self._muted -= ends

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(_PIECE_BYTES):
            if writer in self._muted:
                continue
            left_bytes = self._left_bytes.get(writer)
            if left_bytes is not None:
                piece = piece[:left_bytes]
                self._left_bytes[writer] = left_bytes - len(piece)
            writer.write(piece)
            await writer.drain()
            if self._left_bytes.get(writer) == 0:
                break
        raise ConnectionResetError


@contextlib.asynccontextmanager
async def to(host: str, port: int) -> AsyncIterator[BreakableProxy]:
    """A proxy that listens until the end of the block."""
    proxy = BreakableProxy(host, port)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
