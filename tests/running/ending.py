"""A program that starts others and is ended by a signal: it ends them before."""

from __future__ import annotations

import signal
import sys
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def by_exception() -> None:
    """Let a signal raise ``SystemExit`` in this program, so that every block is left.

    A program that ends at once leaves its children behind.
    """

    def end(number: int, frame: FrameType | None) -> None:
        # A second signal would interrupt the blocks that end the children.
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in _SIGNALS:
        signal.signal(each, end)
