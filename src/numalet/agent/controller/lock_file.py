"""File locks. The kernel releases them when the process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_MODE: Final = 0o600


def opened(path: Path, more_flags: int = 0) -> int:
    """Open or create the file. Raises ``OSError``."""
    return os.open(path, _FLAGS | os.O_CREAT | more_flags, _MODE)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock during the block; waits for it. Raises ``OSError``."""
    descriptor = opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool | None:
    """Whether a process holds the lock (True if unreadable), if the file exists."""
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError:
        return True
    try:
        # Shared: two processes that test at the same time must not see each other's test.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
