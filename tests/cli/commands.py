"""Ways to run the command in tests: in this process, and as a process of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from numalet.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "documented"
RESERVED = "0:memory=3Gi;1:memory=2148Mi"
CONFIGURED = ("-c", str(EXAMPLES / "kubelet.yaml"), "--reserved-memory", RESERVED)
DOCUMENTED = (*CONFIGURED, "-m", str(EXAMPLES / "machine.yaml"))
SMALL_MACHINE = ("-m", "2n8c", "--memory-per-node", "32Gi")
FLEET_FOLDER = EXAMPLES.parent / "fleet"
FLEET = ("--fleet", str(FLEET_FOLDER / "fleet.yaml"))
GUARANTEED = str(EXAMPLES / "guaranteed.yaml")
SECOND = str(EXAMPLES / "second.yaml")
UID = "fa9bdd38-6df9-4cf9-aa67-8c4814da37a8"


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what it printed."""

    status: int
    out: str
    err: str


class Runner:
    """Runs command lines in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ended:
        """Run ``numalet`` with these arguments."""
        self._capsys.readouterr()
        status = main.run(list(arguments))
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err, err
        return Ended(status, out, err)

    def simulate(self, *arguments: str) -> Ended:
        """Run ``numalet simulate`` on the documented machine with these arguments."""
        return self("simulate", *DOCUMENTED, *arguments)


def process(
    *arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None
) -> Ended:
    """Run ``python -m numalet`` as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "numalet", *arguments],
        input=stdin,
        env={**os.environ, "COLUMNS": "80", **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def on_terminal(*arguments: str, columns: int, **environment: str) -> str:
    """What ``python -m numalet`` shows on a terminal of so many columns.

    ``environment`` names the kind of terminal; without it there are no escape sequences.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    removed = ("COLUMNS", "NO_COLOR", "TERM")
    inherited = {name: text for name, text in os.environ.items() if name not in removed}
    with subprocess.Popen(
        [sys.executable, "-m", "numalet", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**inherited, **(environment or {"NO_COLOR": "1", "TERM": "dumb"})},
    ) as running:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # The other end of a terminal that is gone.
            while more := os.read(ours, 1 << 16):
                shown += more
        running.wait(180)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def pod(name: str, memory: str, uid: str = "", node: str = "") -> str:
    """The manifest of a Guaranteed pod, as YAML."""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, uid: {uid or name}}}
spec:
  nodeName: {node or '""'}
  containers:
    - name: c
      resources: {{limits: {{cpu: 1, memory: {memory}}}}}
"""
