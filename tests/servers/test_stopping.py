"""A server that stops leaves no connection open, whatever its clients do at that moment."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import time
import warnings
from collections.abc import Iterator

import pytest
from starlette.types import Receive, Scope, Send

from numalet.shared.web.http_service import serving

_MANY_BYTES = 64 * 1024 * 1024
"""More than the buffers of a connection hold."""

_TICK_SECONDS = 0.1
"""So often uvicorn looks whether it is to stop."""


async def _large(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b" " * _MANY_BYTES})


async def _small(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def _asked(listener: socket.socket) -> socket.socket:
    """A client to which the answer has begun to come."""
    client = _connected(listener)
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert await loop.sock_recv(client, 1)
    return client


def _connected(listener: socket.socket) -> socket.socket:
    client = socket.create_connection(listener.getsockname())
    client.setblocking(False)
    return client


async def _bytes_read(client: socket.socket) -> int:
    """How many came before the connection was over."""
    count = 0
    with client, contextlib.suppress(ConnectionResetError):
        while some := await asyncio.get_running_loop().sock_recv(client, 65536):
            count += len(some)
    return count


@contextlib.contextmanager
def _nothing_is_left_open() -> Iterator[None]:
    """Python warns of an open socket when nothing refers to it any more."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(each.message) for each in caught] == []


@pytest.mark.slow
async def test_a_client_that_does_not_read_is_cut_off() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with _nothing_is_left_open():
        async with serving(_large, listener, stop_seconds=1):
            client = await _asked(listener)
        async with asyncio.timeout(100):
            assert await _bytes_read(client) < _MANY_BYTES


async def test_a_client_that_comes_in_the_turn_of_the_stop_neither_waits_nor_holds_it_up() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with _nothing_is_left_open():
        async with asyncio.timeout(100):
            async with serving(_small, listener, stop_seconds=3600):
                (await _asked(listener)).close()
                await asyncio.sleep(0)
                clients = [_connected(listener) for _ in range(3)]
                # The event loop is busy, and not waited for, until uvicorn is to look again: then
                # it finds the clients and the stop in one turn.
                time.sleep(2 * _TICK_SECONDS)  # noqa: ASYNC251
            assert [await _bytes_read(each) for each in clients] == [0, 0, 0]
