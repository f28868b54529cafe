"""How an agent learns of a command beside it: the files that its own watchers would write.

Their form is an interface between releases; see ``agent.host.runtime.watcher.attempt_files``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from numalet.agent.host.runtime.watcher import attempt_files, process_tree
from numalet.agent.host.runtime.watcher.attempt_files import PreallocatedFile

_NOTIFICATION: Final = b"!"


class AttemptReport:
    """The files of one attempt, allocated before the start. All methods raise ``OSError``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        """The attempt's, which the agent made and will remove."""
        self._started, self._refused, self._end = (
            PreallocatedFile(folder, name)
            for name in (attempt_files.STARTED, attempt_files.REFUSED, attempt_files.END)
        )

    def not_started(self, stage: str, number: int) -> None:
        """At which step the start failed, and the kernel's error number."""
        self._refused.write({"stage": stage, "errno": number})

    def started(self, pid: int, since: str) -> None:
        """Which process is the command, and since when."""
        self._refused.discard()
        program = process_tree.process(pid)
        ticks = 0 if program is None else program.started
        self._started.write(
            {"pid": pid, "ticks": ticks, "at": since, "notes": [], "watcher": os.getpid()}
        )
        notify(self._folder)

    def ended(self, document: Mapping[str, Any]) -> None:
        """How it ended, as ``watch.end_document`` has it."""
        self._end.write(dict(document))


def notify(folder: Path) -> None:
    """Notify the agent that the attempt's files changed; without an agent nothing happens."""
    _write(folder, _NOTIFICATION)


def is_listening(folder: Path) -> bool:
    """Whether there is an agent that would be notified."""
    return _write(folder, b"")


def _write(folder: Path, content: bytes) -> bool:
    """Write into the notify FIFO; False if nothing reads it."""
    path = folder / attempt_files.NOTIFY_FIFO
    with suppress(OSError):
        fifo = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(fifo, content)
        finally:
            os.close(fifo)
        return True
    return False
