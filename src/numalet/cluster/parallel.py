"""Coroutines side by side, of which the first that fails ends all."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def together(parts: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all of them; the first exception ends the others, and is raised as it is."""
    tasks = [asyncio.create_task(each) for each in parts]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
