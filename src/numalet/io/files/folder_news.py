"""Waits for changes in folders with inotify.

inotify fails if its watches are used up, as on nodes with many containers, or if the folder is
absent. Then ``wait`` just sleeps briefly, so that a caller that lists the folder afterwards sees
changes a little later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

UNWATCHED_SECONDS: Final = 2.0
"""The longest wait if a folder cannot be watched."""


async def wait(
    folders: Sequence[Path],
    seconds: float,
    concerns: Callable[[Path], bool] = lambda path: True,
) -> None:
    """Wait until a path that ``concerns`` accepts changes, or the time is over."""
    from watchfiles import awatch

    watched = [each for each in folders if each.is_dir()]
    if watched:
        try:
            async with asyncio.timeout(seconds):
                async for changes in awatch(*watched, recursive=False, debounce=100, step=20):
                    if any(concerns(Path(path)) for _, path in changes):
                        return
        except TimeoutError:
            # First, because TimeoutError is an ``OSError``.
            return
        except (OSError, RuntimeError):
            # watchfiles raises either if inotify fails.
            pass
    await asyncio.sleep(min(seconds, UNWATCHED_SECONDS))
