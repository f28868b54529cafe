"""``numalet breaker`` in a process of its own, beside a real API server."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx

from running.server_programs import PATIENCE_SECONDS

_READY: Final = "everything that matters is known"


class RunningBreakerProgram:
    """One process; ``said`` is what it printed for people so far, ``file`` its audit."""

    def __init__(self, kubeconfig: Path, file: Path, *words: str) -> None:
        self.file = file
        self.said = ""
        self._lines = threading.Condition()
        options = ["--kubeconfig", str(kubeconfig), "--audit", str(file)]
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "numalet", "breaker", *options, *words],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def actions(self, verb: str, outcome: str = "done") -> list[dict[str, Any]]:
        """The lines of the audit with this verb and outcome."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        every = map(json.loads, lines)
        return [each for each in every if (each["verb"], each["outcome"]) == (verb, outcome)]

    def until_said(self, text: str) -> None:
        """Wait until it has printed this; fails with what it did print."""
        with self._lines:
            self._lines.wait_for(
                lambda: text in self.said or not self._reader.is_alive(), PATIENCE_SECONDS
            )
        assert text in self.said, self.said

    def get(self, path: str) -> httpx.Response:
        """The answer of its pages, which it was asked to serve."""
        self.until_said("serving ")
        match = re.search(r"serving (http://\S+)/metrics", self.said)
        assert match is not None, self.said
        return httpx.get(match[1] + path, trust_env=False, timeout=PATIENCE_SECONDS)

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """The exit status after a signal."""
        self.process.send_signal(by)
        status = self.process.wait(PATIENCE_SECONDS)
        self._reader.join()
        return status

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._lines:
                self.said += line
                self._lines.notify_all()
        with self._lines:
            self._lines.notify_all()


@contextlib.contextmanager
def running(
    kubeconfig: Path, file: Path, *words: str, is_ready: bool = True
) -> Iterator[RunningBreakerProgram]:
    """A breaker that knows its cluster, until the end of the block."""
    breaker = RunningBreakerProgram(kubeconfig, file, *words)
    try:
        if is_ready:
            breaker.until_said(_READY)
        yield breaker
    finally:
        breaker.end(signal.SIGKILL)
        assert breaker.process.stderr is not None
        breaker.process.stderr.close()


def undo(kubeconfig: Path) -> str:
    """What ``numalet breaker undo`` said; it succeeded."""
    command = [sys.executable, "-m", "numalet", "breaker", "undo", "--kubeconfig", str(kubeconfig)]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stderr
