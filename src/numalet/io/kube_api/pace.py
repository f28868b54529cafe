"""When to retry: time and randomness as values that tests can replace."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Final, Protocol

from numalet.core.model.value import Value, field

Fraction = Callable[[], float]
"""A random number from 0 up to 1."""

chance: Final[Fraction] = secrets.SystemRandom().random


class Clock(Protocol):
    def now_seconds(self) -> float:
        """Monotonic seconds."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class LoopClock:
    """The time of the running event loop."""

    def now_seconds(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Pace(Value):
    """The delays of a follower.

    After failures the delay grows from ``first_seconds`` by ``growth`` up to ``longest_seconds``;
    each is a random part between half and all of it, so that followers do not reconnect at once.
    With a growth below 2, a server that was away for 10 s is retried within 5 s.

    The client requests that a watch ends after ``watch_seconds``, or up to a tenth earlier. API
    servers send a bookmark about once a minute, so after ``silence_seconds`` without data the
    connection is considered dead.
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
        """The random limit of the next watch, in whole seconds."""
        return max(1, round(self.watch_seconds * (1 - 0.1 * self.fraction())))


PACE: Final = Pace()


class Backoff:
    """The delay after each failure in a row."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._next_seconds = pace.first_seconds

    def succeeded(self) -> None:
        self._next_seconds = self._pace.first_seconds

    def failed(self, at_least_seconds: float | None = None) -> float:
        """Seconds to wait after another failure, at least as long as the server requested."""
        seconds = self._next_seconds * (0.5 + 0.5 * self._pace.fraction())
        self._next_seconds = min(self._next_seconds * self._pace.growth, self._pace.longest_seconds)
        return max(seconds, at_least_seconds or 0.0)
