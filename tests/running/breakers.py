"""``numalet breaker`` in a process of its own, beside a real API server."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx

from running.said_program import SaidProgram
from running.server_programs import PATIENCE_SECONDS

_READY: Final = "everything that matters is known"


class RunningBreakerProgram(SaidProgram):
    """One process; ``file`` is its audit."""

    def __init__(self, kubeconfig: Path, file: Path, *words: str) -> None:
        self.file = file
        super().__init__("breaker", "--kubeconfig", str(kubeconfig), "--audit", str(file), *words)

    def actions(self, verb: str, outcome: str = "done") -> list[dict[str, Any]]:
        """The lines of the audit with this verb and outcome."""
        text = self.file.read_text() if self.file.exists() else ""
        # Who reads while a line is written may see a part of it.
        every = map(json.loads, text.rpartition("\n")[0].splitlines())
        return [each for each in every if (each["verb"], each["outcome"]) == (verb, outcome)]

    def get(self, path: str) -> httpx.Response:
        """The answer of its pages, which it was asked to serve."""
        self.until_said("serving ")
        match = re.search(r"serving (http://\S+)/metrics", self.said)
        assert match is not None, self.said
        return httpx.get(match[1] + path, trust_env=False, timeout=PATIENCE_SECONDS)


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
        breaker.kill()
        # It is shown where the test has failed.
        sys.stderr.write(breaker.said)


def undo(kubeconfig: Path) -> str:
    """What ``numalet breaker undo`` said; it succeeded."""
    command = [sys.executable, "-m", "numalet", "breaker", "undo", "--kubeconfig", str(kubeconfig)]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stderr
