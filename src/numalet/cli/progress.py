"""A progress bar on the error stream, for work that takes longer than half a second.

Only on a terminal, and erased at the end. Redrawn at most ten times a second. Work without steps
shows the elapsed time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from numalet.cli import output

_FIRST: Final = 0.5
_BETWEEN: Final = 0.1
_WIDTH: Final = 24


class Progress:
    """The completed part of a whole."""

    def __init__(self, whole: int, text: str = "") -> None:
        self._whole = max(whole, 1)
        self._done = 0
        self._text = text
        # Short work shows no bar at all.
        self._next = time.monotonic() + _FIRST
        self._is_drawn = False
        self._is_watched = output.is_screen("stderr")

    def advance(self, steps: int = 1) -> None:
        self._done += steps
        self.touch()

    def touch(self, text: str | None = None) -> None:
        """Show the elapsed time, or another text, without a step."""
        if text is not None:
            self._text = text
        now = time.monotonic()
        if self._is_watched and now >= self._next:
            self._next = now + _BETWEEN
            self._is_drawn = True
            filled = min(self._done * _WIDTH // self._whole, _WIDTH)
            bar = "#" * filled + "." * (_WIDTH - filled)
            output.redraw(f"[{bar}] {self._done}/{self._whole} {self._text}")

    def finish(self) -> None:
        if self._is_drawn:
            output.redraw()
            self._is_drawn = False


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show the current work and its elapsed seconds."""
    if not output.is_screen("stderr"):
        yield
        return
    is_over = threading.Event()
    clock = threading.Thread(target=_show_time, args=(text, is_over), daemon=True)
    clock.start()
    try:
        yield
    finally:
        is_over.set()
        clock.join()


def _show_time(text: str, is_over: threading.Event) -> None:
    began, wait, is_drawn = time.monotonic(), _FIRST, False
    while not is_over.wait(wait):
        output.redraw(f"{text} ({time.monotonic() - began:.0f} s)")
        wait, is_drawn = 1.0, True
    if is_drawn:
        output.redraw()


@contextmanager
def steps(whole: int, text: str) -> Iterator[Progress]:
    """Show the progress of this many steps while the block runs."""
    bar = Progress(whole, text)
    try:
        yield bar
    finally:
        bar.finish()
