"""Where a server can not listen, and how its socket appears where it can."""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path

import grpc.aio
import pytest

from numalet.agent.servers import unix_socket
from numalet.core.model.findings import BadInput


@pytest.mark.parametrize(
    ("name", "says"),
    [("x" * 120, "is too long; choose a root folder"), ("none/kubelet.sock", "cannot listen at")],
)
def test_a_name_that_can_not_be_had_is_reported(name: str, says: str, root: Path) -> None:
    async def listen() -> None:
        await unix_socket.serve(grpc.aio.server(), root / name)

    with pytest.raises(BadInput) as raised:
        asyncio.run(listen())
    assert says in raised.value.findings[0].located


IN_MOVED_TO, IN_CREATE = 0x80, 0x100


def _told(folder: Path, act: Callable[[], None]) -> list[tuple[int, str]]:
    """What the kernel tells of a folder while something is done: kinds and names."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK)
    try:
        assert libc.inotify_add_watch(descriptor, bytes(folder), IN_MOVED_TO | IN_CREATE) > 0
        act()
        content, found = os.read(descriptor, 65536), []
        while content:
            _, mask, _, length = struct.unpack_from("iIII", content)
            found.append((mask, content[16 : 16 + length].rstrip(b"\0").decode()))
            content = content[16 + length :]
        return found
    finally:
        os.close(descriptor)


def test_whoever_waits_for_the_creation_of_a_socket_hears_of_it(root: Path) -> None:
    def listen() -> None:
        async def listened() -> None:
            server = grpc.aio.server()
            await unix_socket.serve(server, root / "kubelet.sock")
            await server.stop(0)

        asyncio.run(listened())

    assert (IN_CREATE, "kubelet.sock") in _told(root, listen)
    assert [path.name for path in root.iterdir()] == ["kubelet.sock"]
    # The next one takes its place in one step.
    assert (IN_MOVED_TO, "kubelet.sock") in _told(root, listen)
