"""Tasks side by side, none of which outlives the block that began it.

A request that is still under way when an event loop ends is thrown away in the middle of its steps,
and what it had begun is then complained about at any later moment, in whatever happens to run.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


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
