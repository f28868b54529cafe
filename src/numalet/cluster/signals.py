"""Work that a signal ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


async def until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Do the work until it ends; SIGINT and SIGTERM end it without an error."""
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work)
    is_asked = False

    def end() -> None:
        nonlocal is_asked
        is_asked = True
        task.cancel()

    # Without a handler SIGTERM does not end the first process of a container.
    for number in _SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        await task
    except asyncio.CancelledError:
        if not is_asked:
            raise
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
