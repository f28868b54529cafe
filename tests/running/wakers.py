"""The waker in the event loop of a test, beside a real control plane."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from numalet.cluster import waker
from numalet.io.kube_api import access
from running.control_plane import ControlPlane


@contextlib.asynccontextmanager
async def awake(plane: ControlPlane) -> AsyncIterator[list[str]]:
    """The waker at work; what it says."""
    said: list[str] = []
    task = asyncio.create_task(waker.live(access.of(plane.kubeconfig), said.append))
    try:
        yield said
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
