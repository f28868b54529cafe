"""Runs tasks in parallel; no task outlives the block that started it.

A request that is still running when the event loop ends is dropped midway, and Python reports its
open resources later from unrelated code.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@contextlib.asynccontextmanager
async def together() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group that raises the first exception itself and cancels the other tasks."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failed:
        # asyncio.TaskGroup wraps even a single exception in an ExceptionGroup.
        raise failed.exceptions[0] from None


@contextlib.asynccontextmanager
async def beside(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """A task that ends with the block, and raises there unless the block itself raises."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        await ended(task)
    if not task.cancelled():
        task.result()


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel these tasks and wait for their end; their exceptions are dropped."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # Else asyncio logs that it was never retrieved.
