"""The files of one attempt, written whole, renamed into place, never changed.

``launch.json`` is the order, ``started.json`` or ``refused.json`` the answer, ``end.json`` the end.
A shim has ``lock`` from before its first instruction, inherited from the agent. A free lock without
an answer means that no program was started.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, Final

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


class PreallocatedFile:
    """A file whose blocks are allocated early, so that it can be written on a full disk."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name
        self._temporary = folder / f".{name}.{os.getpid()}"
        flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC
        self._descriptor = os.open(self._temporary, flags, _MODE)
        os.posix_fallocate(self._descriptor, 0, _ROOM_BYTES)

    def write(self, content: dict[str, Any]) -> None:
        """Raises ``OSError``."""
        text = json.dumps(content).encode()
        # JSON may end with blanks, and allocated blocks can always be filled.
        os.pwrite(self._descriptor, text.ljust(_ROOM_BYTES - 1) + b"\n", 0)
        # Flush before the rename: after a power loss the name must not lead to an empty file.
        os.fsync(self._descriptor)
        os.close(self._descriptor)
        self._temporary.replace(self._path)

    def discard(self) -> None:
        os.close(self._descriptor)
        self._temporary.unlink(missing_ok=True)


class AttemptReport:
    """Records the answer and the end, once each. All methods raise ``OSError``."""

    def __init__(self, folder: Path) -> None:
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


def read(folder: Path, name: str) -> dict[str, Any] | None:
    """Read a file of the attempt, unless it is missing or damaged."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return content
    return None
