"""When to ask again: time and chance as values that tests can replace."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Final, Protocol

from numalet.core.model.value import Value, field

Fraction = Callable[[], float]
"""A number from 0 up to 1, another one at every call."""

chance: Final[Fraction] = secrets.SystemRandom().random


class Clock(Protocol):
    """Time that passes."""

    def now_seconds(self) -> float:
        """Seconds since some moment; they never go back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class LoopClock:
    """The time of the running event loop."""

    def now_seconds(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Pace(Value):
    """How long a follower waits, and for what.

    Waiting after a failure begins with ``first_seconds`` and grows by ``growth`` up to
    ``longest_seconds``; each wait is between half of that and all of it, so that followers whose
    server came back do not all ask at once. It grows by less than 2, so that a server that was
    away for 10 s is asked again within 5 s.

    A watch is asked to end after ``watch_seconds``, or up to a tenth less. One on which nothing
    arrives for ``silence_seconds`` is given up: API servers send a bookmark about once a minute,
    so it is a connection whose other end is gone.
    """

    first_seconds: float = 0.5
    longest_seconds: float = 30.0
    growth: float = 1.5
    watch_seconds: float = 290.0
    silence_seconds: float = 150.0
    page_items: int = 500
    fraction: Fraction = chance
    clock: Clock = field(default_factory=LoopClock)

    def watch_limit_seconds(self) -> int:
        """How long the next watch is asked to last, in whole seconds."""
        return max(1, round(self.watch_seconds * (1 - 0.1 * self.fraction())))


PACE: Final = Pace()


class Backoff:
    """How long to wait after each failure in a row."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._next_seconds = pace.first_seconds

    def succeeded(self) -> None:
        """Begin anew with the shortest wait."""
        self._next_seconds = self._pace.first_seconds

    def failed(self, at_least_seconds: float | None = None) -> float:
        """Seconds to wait after another failure; no fewer than the server asked for."""
        seconds = self._next_seconds * (0.5 + 0.5 * self._pace.fraction())
        self._next_seconds = min(self._next_seconds * self._pace.growth, self._pace.longest_seconds)
        return max(seconds, at_least_seconds or 0.0)
