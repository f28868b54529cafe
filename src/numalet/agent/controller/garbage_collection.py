"""When Python collects garbage in the agent: while no client waits for an answer.

Nearly everything is freed as soon as nothing refers to it; the search is for the few objects that
refer to one another in a circle. Left to itself it goes through all that was kept since the start
whenever that has grown by a quarter, which takes tens of milliseconds with a thousand pods, and
comes when requests do. So only what is young is searched meanwhile, and the rest when it is quiet.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

_YOUNG: Final = 10_000
"""So many new objects are searched at a time."""
_SELDOM: Final = 1_000
"""A search through older ones by itself comes after so many: ten million objects."""
_QUIET_SECONDS: Final = 1.0
"""Longer than the pauses of a client that sends one request after the other."""
_LONGEST_BUSY_SECONDS: Final = 300.0
"""After so long without a quiet second the search takes place all the same: circles are few."""
_MOST_OFTEN_SECONDS: Final = 60.0
"""A search takes tens of milliseconds with a thousand pods: once a minute that is little."""


def after_start() -> None:
    """Remember what the first collection leaves, and do not search it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _SELDOM, _SELDOM)


async def whenever_quiet(changed: Callable[[], Awaitable[object]]) -> None:
    """Search everything once it was quiet for a second, at most once a minute; until cancelled.

    ``changed`` returns when something happened. Where it is never quiet there is a search all the
    same, now and then.
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
