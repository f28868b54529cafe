"""Runs Python's garbage collector while no client waits.

A full collection takes tens of milliseconds with a thousand pods. By default it runs after every
growth by a quarter, so during load. Here only young objects are collected under load.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

_YOUNG: Final = 10_000
"""New objects per collection."""
_SELDOM: Final = 1_000
"""An automatic collection of older generations needs ten million objects."""
_QUIET_SECONDS: Final = 1.0
"""Longer than the pauses of a sequential client."""
_LONGEST_BUSY_SECONDS: Final = 300.0
"""Collect after this time even without a quiet second."""
_MOST_OFTEN_SECONDS: Final = 60.0
"""Bounds the cost of full collections."""


def after_start() -> None:
    """Freeze the objects of the start, so that no collection traverses them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _SELDOM, _SELDOM)


async def whenever_quiet(changed: Callable[[], Awaitable[object]]) -> None:
    """Collect after a quiet second, at most once a minute, until cancelled.

    ``changed`` returns after the next change of the agent.
    """
    while True:
        await changed()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_BUSY_SECONDS):
                await _quiet(changed)
        began = time.monotonic()
        gc.collect()
        spent = time.monotonic() - began
        await asyncio.sleep(_MOST_OFTEN_SECONDS - spent)


async def _quiet(changed: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            async with asyncio.timeout(_QUIET_SECONDS):
                await changed()
        except TimeoutError:
            return
