"""The output streams: neither a character nor a closed reader makes a command fail.

A command whose reader is closed, as in ``numalet ... | head``, continues to its own exit status. A
command that follows something ends: it calls ``flush`` after each output.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any, Final

_STANDARD: Final = (1, 2)


class _Output(io.RawIOBase):
    """The descriptor below a stream; output without a reader is dropped."""

    def __init__(self, stream: io.TextIOWrapper, raw: io.FileIO) -> None:
        self._stream = stream
        """The stream that was there: the descriptor is open as long as it lives."""
        self._raw = raw
        self.reader_is_gone = False

    def write(self, data: Any) -> int | None:
        """Write the data, or drop it if the reader has closed the pipe."""
        try:
            return self._raw.write(data)
        except BrokenPipeError:
            # Pretend success: the command goes on to its own exit status.
            self.reader_is_gone = True
            return len(data)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()


def prepare() -> None:
    """Let no output fail for its characters, its reader, or a missing stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # A process may be started without standard streams.
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open until the end
        elif isinstance(stream, io.TextIOWrapper):
            # A file name may be invalid text, and an output may lack characters.
            stream.reconfigure(errors="backslashreplace")
            raw = getattr(stream.buffer, "raw", stream.buffer)
            if isinstance(raw, io.FileIO) and raw.fileno() in _STANDARD:
                setattr(sys, name, _surviving(stream, raw))


def _surviving(stream: io.TextIOWrapper, raw: io.FileIO) -> io.TextIOWrapper:
    output: Any = _Output(stream, raw)
    # With PYTHONUNBUFFERED the two are connected without a buffer.
    return io.TextIOWrapper(
        output if stream.buffer is raw else io.BufferedWriter(output),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def flush() -> None:
    """Flush the output of a command that follows.

    Raises ``BrokenPipeError`` if its reader is closed.
    """
    sys.stdout.flush()
    raw = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
    if isinstance(raw, _Output) and raw.reader_is_gone:
        raise BrokenPipeError
