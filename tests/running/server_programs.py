"""A server of others as a process of a test: started, ready, ended, killed, held, started again."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 120.0
"""So long a server may take; only a run that fails waits for it."""
_GLANCE_SECONDS: Final = 0.05
_PORTS: Final = range(12_000, 30_000)
_LINES_SHOWN: Final = 25
_reservations: Final[list[socket.socket]] = []


class ServerProgramError(Exception):
    """A server ended or did not get ready; the text ends with the last lines of its log."""


def free_port() -> int:
    """A port of loopback on which nothing listens.

    It is below those that the kernel gives to outgoing connections: while a server restarts, a
    client that connects again and again could be given the server's own port, and talk to itself.
    """
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as attempt, suppress(OSError):
            attempt.bind(("127.0.0.1", port))
            _reserve(port)
            return port
    raise ServerProgramError("no port of loopback is free")


def _reserve(port: int) -> None:
    """Keep the port from other tests until this process ends. Raises ``OSError`` if one has it.

    Whoever asked for it binds it later. The name of the socket is no file, so nothing is left.
    """
    reservation = socket.socket(socket.AF_UNIX)
    try:
        reservation.bind(f"\0numalet-test-port-{port}")
    except OSError:
        reservation.close()
        raise
    _reservations.append(reservation)


class ServerProgram:
    """One server: the same command at each start, one log for all its lives."""

    def __init__(
        self, name: str, command: list[str], log: Path, is_ready: Callable[[], bool]
    ) -> None:
        self.name = name
        self.log = log
        self.command: Final = tuple(command)
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the process that runs."""
        assert self._process is not None, f"{self.name} does not run"
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it is ready; ServerProgramError if it ends before."""
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start it and do not wait; in the main thread, for it dies with the thread that did it."""
        assert threading.current_thread() is threading.main_thread()
        assert not self.is_running, f"{self.name} runs already"
        # It dies with the process of the tests, however that one ends.
        bound = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*bound, *self.command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.log.parent, start_new_session=True,
            )  # fmt: skip

    def wait_ready(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until a server that was launched is ready; ServerProgramError if it ends before."""
        assert self._process is not None
        began = time.monotonic()
        while not self._is_ready():
            try:
                code = self._process.wait(_GLANCE_SECONDS)
            except subprocess.TimeoutExpired:
                if time.monotonic() < began + patience_seconds:
                    continue
                self.kill()
                raise self.failed(f"is not ready after {patience_seconds:.0f} s") from None
            raise self.failed(f"ended with {code} before it was ready")

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self.failed("does not end when it is asked to") from None

    def kill(self) -> None:
        """Kill it if it runs; connections end as they do when a machine's kernel ends them."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()

    async def start_meanwhile(self) -> None:
        """Start it and wait until it is ready, while the event loop goes on."""
        self.launch()
        await asyncio.to_thread(self.wait_ready)

    async def restart_meanwhile(self) -> None:
        """Kill it and start it again, while the event loop goes on."""
        await asyncio.to_thread(self.kill)
        await self.start_meanwhile()

    def hold(self) -> None:
        """Let it do nothing while its connections stay open, until it is released."""
        self._signal(signal.SIGSTOP)

    def release(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def last_lines(self) -> str:
        """The end of its log."""
        if not self.log.exists():
            return ""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(line[:400] for line in lines[-_LINES_SHOWN:])

    def failed(self, what: str) -> ServerProgramError:
        """The exception that says so, and what it wrote last."""
        return ServerProgramError(f"{self.name} {what}; it wrote:\n{self.last_lines()}")

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
