"""The files of one attempt, each written whole, put in place by a rename, and never changed.

``launch.json`` is the order: the agent's, or that of a command without one. ``started.json`` or
``refused.json`` say what came of it, and who watches; ``end.json`` how the program ended. ``lock``
is held by the shim as long as it lives, from before its first instruction: the agent takes it
and hands it down. A free lock and no answer means that nothing was started and nothing will be.
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
"""The notify FIFO, which there is only for a runner in the foreground; see ``offers``."""

_ROOM_BYTES: Final = 4096
_MODE: Final = 0o600


class PreallocatedFile:
    """A file whose blocks are allocated at once, so that it can be written on a full disk."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name
        self._temporary = folder / f".{name}.{os.getpid()}"
        flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC
        self._descriptor = os.open(self._temporary, flags, _MODE)
        os.posix_fallocate(self._descriptor, 0, _ROOM_BYTES)

    def write(self, content: dict[str, Any]) -> None:
        """Put the file in its place. Raises ``OSError``."""
        text = json.dumps(content).encode()
        # JSON may be followed by blanks; allocated blocks can always be filled.
        os.pwrite(self._descriptor, text.ljust(_ROOM_BYTES - 1) + b"\n", 0)
        os.fsync(self._descriptor)
        os.close(self._descriptor)
        self._temporary.replace(self._path)

    def discard(self) -> None:
        """It is not needed."""
        os.close(self._descriptor)
        self._temporary.unlink(missing_ok=True)


class AttemptReport:
    """What came of an order and how the program ended, as its shim writes it down, once each.

    The files are allocated before the program starts. All methods raise ``OSError``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """The attempt's."""
        self._started = PreallocatedFile(folder, STARTED)
        self._refused = PreallocatedFile(folder, REFUSED)
        self._end = PreallocatedFile(folder, END)

    def not_started(self, problem: dict[str, Any]) -> None:
        """At which step the start failed, and the kernel's error number."""
        self._refused.write(problem)

    def started(self, program: dict[str, Any]) -> None:
        """Which process is the program, and since when; this one is its shim."""
        self._refused.discard()
        self._started.write({**program, "shim": os.getpid()})

    def ended(self, end: dict[str, Any]) -> None:
        """How it ended; see ``watch.end_document``."""
        self._end.write(end)


def read(folder: Path, name: str) -> dict[str, Any] | None:
    """The content of a file of the attempt; None if it is not there, or was damaged."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return content
    return None
