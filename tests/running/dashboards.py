"""A dashboard that really listens, over a node that a test changes while it is shown.

The server has a thread and an event loop of its own, so that tests can use a browser's blocking
interface beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from anyio.from_thread import start_blocking_portal

import numalet
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.pod import ContainerKey
from numalet.core.node.node import Node
from numalet.dashboard.sources import HistoryPoint, NodeView, SourceKind
from numalet.insight.maps import node_map
from numalet.shared.web.http_service import serving

_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)


def node_view(shape: str = "2n4c2t", memory_per_node: str = "8Gi", **changes: Any) -> NodeView:
    """A view of an empty node of this shape; ``changes`` are fields of the view."""
    config = KubeletConfig()
    machine = numalet.open_machine(shape, memory_per_node=memory_per_node)
    node = numalet.start_node(config, machine)
    assert isinstance(node, Node)
    values: dict[str, Any] = {
        "title": "node-a",
        "kind": SourceKind.SIMULATED,
        "revision": 1,
        "at": _AT,
        "node": node,
        "config": config,
        "chart": node_map.of_node(node, "node-a"),
    }
    return NodeView(**{**values, **changes})


class ChangingNode:
    """A source of views; ``show`` gives it another from any thread."""

    def __init__(self, view: NodeView) -> None:
        self._view = view
        self._points: tuple[HistoryPoint, ...] = ()
        self._logs: dict[ContainerKey, Path] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Event | None = None

    def view(self) -> NodeView:
        """The latest view."""
        return self._view

    async def changed(self) -> None:
        """Wait until there is another."""
        self._loop = asyncio.get_running_loop()
        if self._news is None:
            self._news = asyncio.Event()
        await self._news.wait()

    def show(self, view: NodeView) -> None:
        """Have another view from now on."""
        self._view = view
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()
        self._news = asyncio.Event()

    def history(self) -> Sequence[HistoryPoint]:
        """None, unless ``keep`` gave some."""
        return self._points

    def keep(self, points: Sequence[HistoryPoint]) -> None:
        """Have this history."""
        self._points = tuple(points)

    def log_path(self, key: ContainerKey) -> Path | None:
        """Where ``log`` said that the output of a container is."""
        return self._logs.get(key)

    def log(self, key: ContainerKey, path: Path) -> None:
        """The output of a container is in this file."""
        self._logs[key] = path


@contextlib.contextmanager
def listening(app: Any, port: int = 0) -> Iterator[str]:
    """Serve an application on a port of loopback until the end of the block; its address."""
    listener = socket.create_server(("127.0.0.1", port))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with start_blocking_portal() as portal:
        served = serving(app, listener, stop_seconds=1)
        with portal.wrap_async_context_manager(served):
            yield address
