"""Logs errors of the event loop, at most one line per kind and minute, with a count."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from numalet.core.model.value import Mutable, field

EVERY_SECONDS: Final = 60.0
_MOST_KINDS: Final = 100


def text(message: str, keys: Mapping[str, Any]) -> str:
    return " ".join([message, *(f"{key}={value}" for key, value in keys.items())])


class LoopLog(Mutable):
    """``handle`` is a loop's exception handler; ``write`` receives a line and its keys."""

    write: Callable[[str, Mapping[str, Any]], None]
    _last: dict[str, float] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log the error, or count it for the next line of its kind."""
        message, error = str(context.get("message", "an error")), context.get("exception")
        kind = f"{message} {type(error).__name__}" if error else message
        self._times[kind] = self._times.get(kind, 0) + 1
        now, last = loop.time(), self._last.get(kind)
        # Bounds the memory for messages that contain varying text.
        if last is None and len(self._last) >= _MOST_KINDS:
            return
        if last is None or now - last >= EVERY_SECONDS:
            self._say(now, kind, message, error)
        elif self._times[kind] == 1:
            at = last + EVERY_SECONDS
            loop.call_at(at, self._say, at, kind, message, error)

    def _say(self, now: float, kind: str, message: str, error: BaseException | None) -> None:
        times = self._times.pop(kind, 0)
        if not times:
            return
        self._last[kind] = now
        keys: dict[str, Any] = {"times": times}
        if error is not None:
            keys["err"] = repr(error)
            frames = traceback.extract_tb(error.__traceback__)[-3:]
            if frames and not isinstance(error, OSError):
                keys["where"] = " > ".join(f"{each.filename}:{each.lineno}" for each in frames)
        self.write(message, keys)
