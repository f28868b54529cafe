"""What a program prints, line by line in a log that is cut into files of limited size.

The form is that of the container runtimes: ``TIME STREAM TAG LINE``, where the tag is F for a
full line and P for a part of one. The newest file has the plain name, older ones end with a
number, 1 for the latest. A disk that is full costs lines and does not stop the program.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

_LONGEST_LINE_BYTES: Final = 16 * 1024
_MODE: Final = 0o600
_NANO: Final = 1_000_000_000


class AttemptLog:
    """The log of one attempt."""

    def __init__(self, path: Path, most_bytes: int, most_files: int) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._descriptor: int | None = None
        self._size = 0

    def line(self, stream: str, tag: str, text: bytes) -> None:
        """Add one line, or lose it."""
        entry = f"{stamp()} {stream} {tag} ".encode() + text + b"\n"
        with contextlib.suppress(OSError):
            if self._descriptor is None:
                self._open()
            elif self._size and self._size + len(entry) > self._most_bytes:
                self._rotate()
            assert self._descriptor is not None
            self._size += os.write(self._descriptor, entry)

    def close(self) -> None:
        """Nothing comes any more."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> None:
        flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, _MODE)
        self._size = os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        self.close()
        older = [self._path.with_name(f"{self._path.name}.{n}") for n in range(self._most_files)]
        older[0] = self._path
        for at in range(len(older) - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                older[at - 1].replace(older[at])
        if len(older) == 1:
            self._path.unlink(missing_ok=True)
        self._open()


class Stream:
    """One of the program's outputs: bytes come in pieces, lines go out."""

    def __init__(self, descriptor: int, name: str, log: AttemptLog) -> None:
        self.descriptor = descriptor
        self._name = name
        self._log = log
        self._rest = b""
        os.set_blocking(descriptor, False)

    def carry(self) -> bool:
        """Take what is there now; False when nothing will come any more."""
        try:
            piece = os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return True
        *lines, rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._put(line, "F")
        while len(rest) >= _LONGEST_LINE_BYTES:
            self._log.line(self._name, "P", rest[:_LONGEST_LINE_BYTES])
            rest = rest[_LONGEST_LINE_BYTES:]
        self._rest = rest
        return bool(piece)

    def finish(self) -> None:
        """Take all that is left; a last line without an end is a line."""
        while _is_waiting(self.descriptor) and self.carry():
            pass
        if self._rest:
            self._put(self._rest, "F")
            self._rest = b""

    def _put(self, line: bytes, tag: str) -> None:
        while len(line) > _LONGEST_LINE_BYTES:
            self._log.line(self._name, "P", line[:_LONGEST_LINE_BYTES])
            line = line[_LONGEST_LINE_BYTES:]
        self._log.line(self._name, tag, line)


def stamp(nanoseconds: int | None = None) -> str:
    """A moment as RFC 3339 with nanoseconds, in UTC; now, if none is given."""
    whole, part = divmod(time.time_ns() if nanoseconds is None else nanoseconds, _NANO)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{part:09d}Z"


def _is_waiting(descriptor: int) -> bool:
    """Whether something can be read without waiting, be it the end."""
    import select

    return bool(select.select([descriptor], [], [], 0)[0])
