"""An event loop whose time does not pass but jumps: to the next timer, as soon as all wait."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any


class _NoWaiting(selectors.DefaultSelector):
    """Tells of no wait but lets it be over at once."""

    def __init__(self, passed: Callable[[float], None]) -> None:
        super().__init__()
        self._passed = passed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "all wait for something that never comes"
            self._passed(timeout)
        return ready


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Its time is in seconds since it began. Nothing in it may wait for threads or sockets."""

    def __init__(self) -> None:
        self._seconds = 0.0
        super().__init__(_NoWaiting(self._pass))

    def time(self) -> float:
        return self._seconds

    def _pass(self, seconds: float) -> None:
        # A timer that is due in less than the clock's resolution is due now.
        self._seconds += max(seconds, 0.0)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end in a loop of its own."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        runner.run(work)
