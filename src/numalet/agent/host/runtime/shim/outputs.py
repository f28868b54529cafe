"""The log of a program in the CRI format ``TIME STREAM TAG LINE``, rotated by size.

Tag F is a full line, P a part of one. Rotated files end with a number, 1 for the newest. A full
disk loses lines and does not stop the program.
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
    def __init__(self, path: Path, most_bytes: int, most_files: int) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._descriptor: int | None = None
        self._size = 0

    def line(self, stream: str, tag: str, text: bytes) -> None:
        """Add a line, or drop it on error."""
        entry = f"{stamp()} {stream} {tag} ".encode() + text + b"\n"
        with contextlib.suppress(OSError):
            if self._descriptor is None:
                self._open()
            elif self._size and self._size + len(entry) > self._most_bytes:
                self._rotate()
            assert self._descriptor is not None
            self._size += os.write(self._descriptor, entry)

    def close(self) -> None:
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
    """Splits one output of the program into lines."""

    def __init__(self, descriptor: int, name: str, log: AttemptLog) -> None:
        self.descriptor = descriptor
        self._name = name
        self._log = log
        self._rest = b""
        os.set_blocking(descriptor, False)

    def carry(self) -> bool:
        """Read the available data; False after EOF."""
        try:
            piece = os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return True
        *lines, rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._put(line, "F")
        # A program without newlines must not fill the shim's memory.
        while len(rest) >= _LONGEST_LINE_BYTES:
            self._log.line(self._name, "P", rest[:_LONGEST_LINE_BYTES])
            rest = rest[_LONGEST_LINE_BYTES:]
        self._rest = rest
        return bool(piece)

    def finish(self) -> None:
        """Read everything that remains; the last line may lack its newline."""
        # A daemon may keep the pipe open forever, so read only available data.
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
    """RFC 3339 in UTC with nanoseconds; default: now."""
    whole, part = divmod(time.time_ns() if nanoseconds is None else nanoseconds, _NANO)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{part:09d}Z"


def _is_waiting(descriptor: int) -> bool:
    """Whether a read would not block, EOF included."""
    # Imported late to start the shim faster.
    import select

    return bool(select.select([descriptor], [], [], 0)[0])
