"""Writes the agent's log, one line per entry, as JSON or for a terminal."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import structlog
from structlog.typing import EventDict, Processor

from numalet.core.model import moments
from numalet.io import terminals
from numalet.wording.foreign_texts import printable
from numalet.wording.log_line import LogFormat, LogLine

_TO_BE_QUOTED: Final = re.compile("[ \\t=\\r\\n\"']")


class LeveledLog:
    """A log that drops lines above its verbosity. A write error never stops the agent."""

    def __init__(
        self, stream: TextIO, chosen: LogFormat = LogFormat.CONSOLE, verbosity: int = 0
    ) -> None:
        self.verbosity: Final = verbosity
        self._stream: Final = stream
        self._logger: Any = structlog.wrap_logger(
            # Returns the text: all lines of one admission are written together.
            structlog.ReturnLogger(),
            processors=[
                structlog.processors.add_log_level,
                *_rendered(stream, chosen),
            ],
            wrapper_class=structlog.BoundLogger,
            # An unbound logger would bind itself for every line, which is slow.
        ).bind()

    def write(self, lines: Iterable[LogLine]) -> None:
        now = moments.microseconds(datetime.now(UTC))
        texts = [
            self._text(line, now) for line in lines if line.level <= self.verbosity or line.is_error
        ]
        # The stream may be a pipe without a reader, or a file on a full disk.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write("".join(f"{text}\n" for text in texts))
            self._stream.flush()

    def _text(self, line: LogLine, now: str) -> str:
        say = self._logger.error if line.is_error else self._logger.info
        text: str = say(line.message, **{"v": line.level, **line.keys, "ts": now})
        return text


def to_stderr(chosen: LogFormat = LogFormat.CONSOLE, verbosity: int = 0) -> LeveledLog:
    return LeveledLog(sys.stderr, chosen, verbosity)


def _rendered(stream: TextIO, chosen: LogFormat) -> list[Processor]:
    if chosen is LogFormat.JSON:
        return [
            structlog.processors.EventRenamer("msg"),
            structlog.processors.JSONRenderer(sort_keys=False),
        ]
    if stream.isatty() and terminals.has_styles():
        return [
            _without_level_zero,
            _printable,
            structlog.dev.ConsoleRenderer(timestamp_key="ts"),
        ]
    return [_without_level_zero, _plain]


def _without_level_zero(_logger: Any, _method: str, event: EventDict) -> EventDict:
    if event.get("v") == 0:
        del event["v"]
    return event


def _printable(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Sanitize before ``ConsoleRenderer`` adds colour codes between the values."""
    # The renderer quotes whitespace itself.
    return {
        key: printable(each, "\n\t\r") if isinstance(each, str) else each
        for key, each in event.items()
    }


def _plain(_logger: Any, _method: str, event: EventDict) -> str:
    """Write the same line as ``ConsoleRenderer`` without colours, in a fifth of the time."""
    head = f"{event.pop('ts')} [{event.pop('level'):<9}] {event.pop('event'):<30}"
    texts = (head, *(f"{key}={_shown(event[key])}" for key in sorted(event)))
    return printable(" ".join(texts).rstrip())


def _shown(value: object) -> str:
    if isinstance(value, str) and _TO_BE_QUOTED.search(value) is None:
        return value
    return repr(value)
