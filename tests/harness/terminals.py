"""What a program shows on a terminal, read at its other end."""

from __future__ import annotations

import contextlib
import os
import select
import time

PATIENCE_SECONDS = 200.0


def shown_until(terminal: int, text: bytes) -> bytes:
    """Everything that is shown up to this text; what there is after a minute without it."""
    shown, last = b"", time.monotonic() + PATIENCE_SECONDS
    with contextlib.suppress(OSError):
        while text not in shown and time.monotonic() < last:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 1 << 16)
    return shown
