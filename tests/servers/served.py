"""An API on a real Unix socket, served from a thread of its own, for tests that block."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from numalet.agent.servers.api import listening
from numalet.agent.servers.api.application import application
from numalet.core.node.node import Node
from numalet.io.agent_client.client import AgentClient
from servers.memory_door import MemoryDoor

T = TypeVar("T")


class Api:
    """The door, and the socket on which its API is."""

    def __init__(self, door: MemoryDoor, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.door = door
        self.path = path
        self._loop = loop
        self.bugs: list[Exception] = []

    def client(self) -> AgentClient:
        return AgentClient(self.path, timeout_seconds=200)

    def do(self, act: Callable[[MemoryDoor], T]) -> T:
        """Do something to the door in the loop that it belongs to."""

        async def acted() -> T:
            return act(self.door)

        return asyncio.run_coroutine_threadsafe(acted(), self._loop).result(200)


@contextlib.contextmanager
def served(path: Path, node: Node | None = None, /, **changes: Any) -> Iterator[Api]:
    """The API of a new agent on this socket."""
    ready: Future[Api] = Future()
    over: Future[asyncio.Event] = Future()

    async def live() -> None:
        door, loop = MemoryDoor(node, **changes), asyncio.get_running_loop()
        end = asyncio.Event()
        over.set_result(end)
        api = Api(door, path, loop)
        try:
            async with listening.on_unix_socket(application(door, api.bugs.append), path):
                ready.set_result(api)
                await end.wait()
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=lambda: asyncio.run(live()), daemon=True)
    thread.start()
    api = ready.result(200)
    try:
        yield api
    finally:
        api._loop.call_soon_threadsafe(over.result().set)
        thread.join(120)
        assert not thread.is_alive()
