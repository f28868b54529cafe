"""A proxy as companies have: HTTP's CONNECT, plain HTTP, and SOCKS 5, all on one port."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import urlsplit

from numalet.io.tasks import together
from running.tcp_server import TcpServer

_SOCKS: Final = 5
_ADDRESS_TYPES: Final = {1: 4, 4: 16}


class ForwardProxy:
    """``targets`` is where clients asked to go."""

    def __init__(self) -> None:
        self.targets: list[tuple[str, int]] = []
        self.port = 0
        self._server = TcpServer(self._serve)

    async def start(self) -> None:
        """Listen."""
        self.port = await self._server.start()

    async def stop(self) -> None:
        """Reset every connection and listen no more."""
        await self._server.stop()

    async def unused(self) -> None:
        """Wait until no client is connected."""
        await self._server.unused()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to wherever it goes."""
        far: asyncio.StreamWriter | None = None
        try:
            first = await reader.readexactly(1)
            if first[0] == _SOCKS:
                host, port = await self._socks(reader, writer)
                answer, sent = b"\x05\x00\x00\x01" + bytes(6), b""
            else:
                head = first + await reader.readuntil(b"\r\n\r\n")
                method, url, _ = head.decode().split(" ", 2)
                parts = urlsplit(f"//{url}" if method == "CONNECT" else url)
                host, port = parts.hostname or "", parts.port or 80
                is_tunnel = method == "CONNECT"
                answer = b"HTTP/1.1 200 OK\r\n\r\n" if is_tunnel else b""
                sent = b"" if is_tunnel else head
            self.targets.append((host, port))
            far_reader, far = await asyncio.open_connection("127.0.0.1", port)
            writer.write(answer)
            far.write(sent)
            async with together() as passing:
                passing.create_task(_pass_on(reader, far))
                passing.create_task(_pass_on(far_reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass  # A client that goes away.
        finally:
            for each in (writer, far):
                if each is not None:
                    each.transport.abort()

    async def _socks(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, int]:
        (methods,) = await reader.readexactly(1)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        _, _, _, kind = await reader.readexactly(4)
        if kind in _ADDRESS_TYPES:
            packed = await reader.readexactly(_ADDRESS_TYPES[kind])
            family = socket.AF_INET if kind == 1 else socket.AF_INET6
            host = socket.inet_ntop(family, packed)
        else:
            (size,) = await reader.readexactly(1)
            host = (await reader.readexactly(size)).decode()
        (port,) = struct.unpack("!H", await reader.readexactly(2))
        return host, port


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[ForwardProxy]:
    """A proxy that listens until the end of the block."""
    proxy = ForwardProxy()
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(1 << 16):
        writer.write(piece)
        await writer.drain()
    raise ConnectionResetError
