"""The files of one attempt, written whole, renamed into place, never changed.

``launch.json`` is the order, ``started.json`` or ``refused.json`` the answer, ``end.json`` the end.
A shim has ``lock`` from before its first instruction, inherited from the agent. A free lock without
an answer means that no program was started.

``output.log`` is the program's output in the CRI format ``TIME STREAM TAG LINE``, rotated by size.
Tag F is a full line, P a part of one. Rotated files end with a number, 1 for the newest. A full
disk loses lines and does not stop the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Final

_LONGEST_LINE_BYTES: Final = 16 * 1024
_NANO: Final = 1_000_000_000

RUNS: Final = "runs"
"""The folder of all attempts, below the root folder of an agent."""
CONTAINER: Final = "main"
"""The only container of a command's pod."""
LAUNCH: Final = "launch.json"
STARTED: Final = "started.json"
REFUSED: Final = "refused.json"
END: Final = "end.json"
LOCK: Final = "lock"
LOG: Final = "output.log"
NOTIFY_FIFO: Final = "bell"
"""The notify FIFO of a foreground runner; see ``offers``."""

_ROOM_BYTES: Final = 4096
_MODE: Final = 0o600


class AttemptLog:
    def __init__(self, path: str | Path, most_bytes: int, most_files: int) -> None:
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
            # A single line that is longer than the limit still gets a file, or it would rotate
            # forever.
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
        older = [f"{self._path}.{n}" for n in range(self._most_files)]
        older[0] = str(self._path)
        # The oldest first, so that each rename has a free place.
        for at in range(len(older) - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(older[at - 1], older[at])
        if len(older) == 1:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
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


class PreallocatedFile:
    """A file whose blocks are allocated early, so that it can be written on a full disk."""

    def __init__(self, folder: str | Path, name: str) -> None:
        self._path = f"{folder}/{name}"
        self._temporary = f"{folder}/.{name}.{os.getpid()}"
        flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC
        self._descriptor = os.open(self._temporary, flags, _MODE)
        # Unlike ``ftruncate``, this allocates blocks, so a later write cannot fail for lack of
        # space.
        os.posix_fallocate(self._descriptor, 0, _ROOM_BYTES)

    def write(self, content: dict[str, Any]) -> None:
        """Raises ``OSError``."""
        text = json.dumps(content).encode()
        # JSON may end with blanks, and allocated blocks can always be filled.
        os.pwrite(self._descriptor, text.ljust(_ROOM_BYTES - 1) + b"\n", 0)
        # Flush before the rename: after a power loss the name must not lead to an empty file.
        os.fsync(self._descriptor)
        os.close(self._descriptor)
        os.replace(self._temporary, self._path)

    def discard(self) -> None:
        os.close(self._descriptor)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary)


class AttemptReport:
    """Records the answer and the end, once each. All methods raise ``OSError``."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = folder
        # Allocate all three before the program starts, since its end must be recorded on a full
        # disk.
        self._started = PreallocatedFile(folder, STARTED)
        self._refused = PreallocatedFile(folder, REFUSED)
        self._end = PreallocatedFile(folder, END)

    def not_started(self, problem: dict[str, Any]) -> None:
        """At which step the start failed, and the kernel's error number."""
        self._refused.write(problem)

    def started(self, program: dict[str, Any]) -> None:
        """Which process is the program, and since when; this one is its shim."""
        # Only one answer may exist, and no shim changes it later.
        self._refused.discard()
        self._started.write({**program, "shim": os.getpid()})

    def ended(self, end: dict[str, Any]) -> None:
        """How it ended; see ``watch.end_document``."""
        self._end.write(end)


def read(folder: str | Path, name: str) -> dict[str, Any] | None:
    """Read a file of the attempt, unless it is missing or damaged."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        with open(f"{folder}/{name}", "rb") as file:
            content = json.loads(file.read().decode())
        if isinstance(content, dict):
            return content
    return None
