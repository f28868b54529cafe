"""Agents that are processes of their own: started by their command line, heard by their log.

There are two ways to start one, which differ in what they cost: ``Forks`` asks a process that has
the whole program imported for a copy of itself, ``Interpreters`` starts ``python -m numalet`` as a
user does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, Protocol, TypeAlias

from harness import measurement
from running import agent_zygote

PATIENCE_SECONDS: Final = 200.0
"""How long an agent may be silent while something is awaited; many times what it takes."""
_CHUNK: Final = 1 << 16

Line: TypeAlias = dict[str, Any]
"""A line of the log, as it was written with ``--log-format json``."""


class Starter(Protocol):
    """A way to start an agent."""

    def start(self, words: Sequence[str], errors: socket.socket) -> int:
        """Start ``numalet`` with these words, its error stream being this; the process."""

    def end_of(self, pid: int) -> int:
        """Wait for the end of this process: its exit status, negative for a signal."""


class Interpreters:
    """Every agent is a new interpreter, as when a user starts it."""

    def __init__(self) -> None:
        self._started: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, words: Sequence[str], errors: socket.socket) -> int:
        """Start ``python -m numalet``."""
        command = [sys.executable, "-m", "numalet", *words]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors.fileno())
        self._started[process.pid] = process
        return process.pid

    def end_of(self, pid: int) -> int:
        """Wait for its end."""
        return self._started.pop(pid).wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """Leave none behind."""
        for process in self._started.values():
            process.kill()
            process.wait()


class Forks:
    """Every agent is a copy of one process that has everything imported."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def start(self, words: Sequence[str], errors: socket.socket) -> int:
        """Ask for a copy."""
        order = _order(words)
        socket.send_fds(self._control, [order], [errors.fileno()])
        return self._answer()

    def process(
        self, words: Sequence[str], streams: Sequence[int], environment: Mapping[str, str]
    ) -> ForkedProcess:
        """A copy with these three streams and this environment."""
        order = _order(words, environment=dict(environment))
        socket.send_fds(self._control, [order], streams)
        return ForkedProcess(self, self._answer())

    def run(
        self, words: Sequence[str], given: str = "", patience_seconds: float = PATIENCE_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """The end of a copy, and what it wrote; ``given`` is on its input."""
        with ExitStack() as opened:
            streams = [opened.enter_context(TemporaryFile("w+")) for _ in range(3)]
            streams[0].write(given)
            streams[0].seek(0)
            numbers = [each.fileno() for each in streams]
            status = self.process(words, numbers, os.environ).wait(patience_seconds)
            out, errors = (_whole(each) for each in streams[1:])
            return subprocess.CompletedProcess(words, status, out, errors)

    def begin(self, words: Sequence[str], environment: Mapping[str, str]) -> Begun:
        """A copy that goes on, and what it writes; its error stream is ours."""
        ours, theirs = os.pipe()
        with Path(os.devnull).open("rb") as nothing:
            process = self.process(words, [nothing.fileno(), theirs, 2], environment)
        os.close(theirs)
        return Begun(process, os.fdopen(ours))

    def end_of(self, pid: int) -> int:
        """Wait for its end."""
        self._control.send(json.dumps({"end_of": pid}).encode())
        return self._answer()

    def _answer(self) -> int:
        answer: int = json.loads(self._control.recv(agent_zygote.LARGEST_ORDER))
        return answer


def _order(words: Sequence[str], **more: object) -> bytes:
    """What asks for a copy; it is measured if the test is."""
    order = {"words": list(words), "is_measured": measurement.is_on(), **more}
    return json.dumps(order).encode()


class Process(Protocol):
    """What tests ask of a process, whoever started it: a part of ``subprocess.Popen``."""

    @property
    def pid(self) -> int:
        """Its id."""

    def poll(self) -> int | None:
        """Its exit status, negative for a signal; None as long as it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The same, awaited."""

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""

    def kill(self) -> None:
        """The same with SIGKILL."""

    def terminate(self) -> None:
        """The same with SIGTERM."""


class ForkedProcess:
    """A copy that ``Forks`` made, seen as a child; see ``Process``."""

    def __init__(self, forks: Forks, pid: int) -> None:
        self.pid = pid
        self._forks = forks
        self._pidfd = os.pidfd_open(pid)
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its exit status if it has ended."""
        if self._status is None and select.select([self._pidfd], [], [], 0)[0]:
            self._status = self._forks.end_of(self.pid)
            os.close(self._pidfd)
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status. Raises ``subprocess.TimeoutExpired``."""
        if self._status is None:
            select.select([self._pidfd], [], [], timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return status

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._pidfd, sig)

    def kill(self) -> None:
        """Send it SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Send it SIGTERM."""
        self.send_signal(signal.SIGTERM)


class Begun:
    """A process and what it writes."""

    def __init__(self, process: Process, stdout: IO[str]) -> None:
        self.stdout = stdout
        self.wait, self.kill = process.wait, process.kill
        self.terminate, self.send_signal = process.terminate, process.send_signal
        self.poll, self.pid = process.poll, process.pid


@contextmanager
def forks() -> Iterator[Forks]:
    """Copies of a process that lasts as long as this; none is left at the end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            command = [sys.executable, agent_zygote.__file__, str(theirs.fileno())]
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        try:
            ours.settimeout(PATIENCE_SECONDS)
            yield Forks(ours)
        finally:
            ours.close()
            assert process.wait(PATIENCE_SECONDS) == 0


@contextmanager
def forks_of_this_process(
    patience_seconds: float, prepare: Callable[[], None] = agent_zygote.import_all
) -> Iterator[Forks]:
    """The same, but what is copied is a copy of this process, which has most of it imported.

    ``prepare`` imports what the copies need.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if not pid:
        ours.close()
        try:
            agent_zygote.be(theirs, prepare)
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        ours.settimeout(patience_seconds)
        yield Forks(ours)
    os.waitpid(pid, 0)


class AgentProcess:
    """One agent. ``said`` is what it wrote that is no line of its log."""

    def __init__(self, starter: Starter, words: Sequence[str]) -> None:
        self._starter = starter
        ours, theirs = socket.socketpair()
        with theirs:
            self.pid = starter.start(words, theirs)
        ours.settimeout(PATIENCE_SECONDS)
        self._errors = ours
        self._lines: Iterator[bytes] = _lines(ours)
        self.said: list[str] = []
        self.is_over = False

    def heard(self, until: Callable[[Line], bool]) -> list[Line]:
        """The next lines of its log up to such a line, or to its end, which has no such line."""
        found = []
        for text in self._lines:
            if not text.startswith(b"{"):
                self.said.append(text.decode())
                continue
            line: Line = json.loads(text)
            found.append(line)
            if until(line):
                return found
        self.is_over = True
        return found

    def end(self, number: signal.Signals | None = None) -> int:
        """Its exit status; with a signal it is sent that first."""
        if number is not None:
            os.kill(self.pid, number)
        self.heard(lambda _line: False)
        self._errors.close()
        return self._starter.end_of(self.pid)


def _whole(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _lines(stream: socket.socket) -> Iterator[bytes]:
    """The lines of a stream as they come. Raises ``TimeoutError`` if nothing comes for long."""
    rest = b""
    while chunk := stream.recv(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest
