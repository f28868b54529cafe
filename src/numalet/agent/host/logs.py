"""Writes the agent's log: one line each, as JSON or for people to read.

A log that can not be written (a full disk, a reader that went) does not stop the agent.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import structlog
from structlog.typing import EventDict, Processor

from numalet.core.model import moments
from numalet.wording.log_line import LogFormat, LogLine
from numalet.wording.printable import printable

_TO_BE_QUOTED: Final = re.compile("[ \\t=\\r\\n\"']")


class LeveledLog:
    """A log with a verbosity: lines of a higher level are left out."""

    def __init__(
        self, stream: TextIO, chosen: LogFormat = LogFormat.CONSOLE, verbosity: int = 0
    ) -> None:
        self.verbosity: Final = verbosity
        self._stream: Final = stream
        self._logger: Any = structlog.wrap_logger(
            # It returns the text: all lines of one admission are written at once.
            structlog.ReturnLogger(),
            processors=[
                structlog.processors.add_log_level,
                *_rendered(stream, chosen),
            ],
            wrapper_class=structlog.BoundLogger,
            # Bound once: a logger that is not yet bound binds itself anew for every line.
        ).bind()

    def write(self, lines: Iterable[LogLine]) -> None:
        """Write these lines, as far as the verbosity lets them pass."""
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
    """A log on the error stream."""
    return LeveledLog(sys.stderr, chosen, verbosity)


def _rendered(stream: TextIO, chosen: LogFormat) -> list[Processor]:
    if chosen is LogFormat.JSON:
        return [
            structlog.processors.EventRenamer("msg"),
            structlog.processors.JSONRenderer(sort_keys=False),
        ]
    if stream.isatty() and "NO_COLOR" not in os.environ:
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
    """Colours are put between the values, so these lose their control characters before."""
    # Blanks of all kinds are quoted later.
    return {
        key: printable(each, "\n\t\r") if isinstance(each, str) else each
        for key, each in event.items()
    }


def _plain(_logger: Any, _method: str, event: EventDict) -> str:
    """What ``ConsoleRenderer`` makes without colours, in a fifth of its time.

    Most lines of an agent go to a journal or a file, nine for every pod that is submitted.
    """
    head = f"{event.pop('ts')} [{event.pop('level'):<9}] {event.pop('event'):<30}"
    texts = (head, *(f"{key}={_shown(event[key])}" for key in sorted(event)))
    return printable(" ".join(texts).rstrip())


def _shown(value: object) -> str:
    if isinstance(value, str) and _TO_BE_QUOTED.search(value) is None:
        return value
    return repr(value)
