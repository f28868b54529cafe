"""A test server that stops drops no connection, in whichever step of being accepted it is."""

from __future__ import annotations

import asyncio
import gc
import socket

import pytest

from running.tcp_server import TcpServer


async def _echoes_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await reader.read()
    finally:
        writer.close()


# What is dropped is collected here, and pytest fails the test for it.
@pytest.mark.parametrize("turns", range(8))
async def test_connections_that_are_being_accepted_are_closed(turns: int) -> None:
    server = TcpServer(_echoes_nothing)
    port = await server.start()
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
    for _ in range(turns):
        await asyncio.sleep(0)
    await server.stop()
    for client in clients:
        client.close()
    gc.collect()
