"""Waiting for changes in folders, as long as the kernel reports them.

It does not where its limits of watches are used up, as they are on nodes with many containers, nor
in a folder that is not there or goes meanwhile. Then only the time is waited for, and not for
long, so that a reader who lists the folder afterwards sees everything a little later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

UNWATCHED_SECONDS: Final = 2.0
"""After so long a folder that can not be watched is to be listed again."""


async def wait(
    folders: Sequence[Path],
    seconds: float,
    concerns: Callable[[Path], bool] = lambda path: True,
) -> None:
    """Wait until a path that ``concerns`` the caller changes, but no longer than this."""
    from watchfiles import awatch

    watched = [each for each in folders if each.is_dir()]
    if watched:
        try:
            async with asyncio.timeout(seconds):
                async for changes in awatch(*watched, recursive=False, debounce=100, step=20):
                    if any(concerns(Path(path)) for _, path in changes):
                        return
        except TimeoutError:
            # It is an ``OSError`` too, so it comes first.
            return
        except (OSError, RuntimeError):
            # The library says both of what the kernel does not let be watched.
            pass
    await asyncio.sleep(min(seconds, UNWATCHED_SECONDS))
