"""A token bucket."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
# Adds ``per_second`` tokens each second up to ``burst``; starts full.
class TokenBucket:
    per_second: float
    burst: int
    clock: Callable[[], float] = time.monotonic
    _tokens: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._tokens, self._at = float(self.burst), self.clock()

    def acquire(self) -> bool:
        """Use a token; False if the bucket is empty."""
        now = self.clock()
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.per_second)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
