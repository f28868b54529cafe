"""``numalet`` in a process of its own; what it says to people, as it comes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Final

from running.server_programs import PATIENCE_SECONDS

_NUMALET: Final = ("-m", "numalet")


class SaidProgram:
    """One process; ``said`` is what it printed on its error stream so far."""

    def __init__(self, *words: str, program: Sequence[str] = _NUMALET) -> None:
        self.said = ""
        self._lines = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-u", *program, *words], stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def until_said(self, text: str) -> None:
        """Wait until it has printed this; fails with what it did print."""
        with self._lines:
            self._lines.wait_for(
                lambda: text in self.said or not self._reader.is_alive(), PATIENCE_SECONDS
            )
        assert text in self.said, self.said

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """The exit status after a signal."""
        self.process.send_signal(by)
        status = self.process.wait(PATIENCE_SECONDS)
        self._reader.join()
        return status

    def kill(self) -> None:
        """End it at once, and close what it was read from."""
        self.end(signal.SIGKILL)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._lines:
                self.said += line
                self._lines.notify_all()
        with self._lines:
            self._lines.notify_all()
