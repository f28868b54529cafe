"""Tasks side by side, none of which outlives the block that began it.

A request that is still under way when an event loop ends is thrown away in the middle of its steps,
and what it had begun is then complained about at any later moment, in whatever happens to run.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@contextlib.asynccontextmanager
async def together() -> AsyncIterator[asyncio.TaskGroup]:
    """A group of tasks; the first exception ends all others, and is raised as it is.

    ``asyncio.TaskGroup`` alone raises it inside an ExceptionGroup, also where there is but one.
    """
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


@contextlib.asynccontextmanager
async def beside(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """A task that is over at the end of the block.

    What it raised is raised there, unless the block itself ends with an exception.
    """
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        await ended(task)
    if not task.cancelled():
        task.result()


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel these tasks and wait until they are over. What they raise is dropped."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # Else asyncio logs that it was never retrieved.
