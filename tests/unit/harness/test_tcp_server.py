"""Servers of tests leave no socket and no task, at whatever moment they stop."""

from __future__ import annotations

import asyncio
import gc
import socket

import pytest

from running.tcp_server import TcpServer


def _stopped_after(turns: int) -> tuple[bytes, set[str]]:
    """What a client gets of a server that stops so many turns after it; who is left at work."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def scene() -> tuple[bytes, set[str]]:
        server = TcpServer(serve)
        port = await server.start()
        with socket.socket() as client:
            client.setblocking(False)
            await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
            for _ in range(turns):
                await asyncio.sleep(0)
            await server.stop()
            left = {str(each) for each in asyncio.all_tasks() - {asyncio.current_task()}}
            client.setblocking(True)
            try:
                return client.recv(1), left
            except ConnectionResetError:
                return b"reset", left

    return asyncio.run(scene())


@pytest.mark.parametrize("turns", range(8))
def test_a_client_is_reset_and_nothing_is_left(turns: int) -> None:
    assert _stopped_after(turns) == (b"reset", set())
    gc.collect()
