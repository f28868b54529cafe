"""Real processes of the agent that are to die: how they start, and how they meet their end."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numalet.agent.controller import main
from numalet.agent.controller.settings import AgentSettings
from running import faults

AT_A_POINT = "at a fault point"
AT_ANY_MOMENT = "at any moment"
_BETWEEN_WORKS_SECONDS: Final = 0.2


@dataclass(slots=True)
class Victim:
    """A child of ours. ``status`` is its exit status when it is dead, negative for a signal."""

    pid: int
    status: int | None = None

    def wait(self) -> None:
        """Take note of its end, which has come."""
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@dataclass(frozen=True, slots=True)
class Orders:
    """An agent: as words of its command line and as settings, and the file for what it says."""

    words: list[str]
    settings: AgentSettings
    environment: dict[str, str]
    errors: Path


def separate(orders: Orders) -> Victim:
    """The agent as a user starts it."""
    with orders.errors.open("wb") as file:
        command = [*faults.NUMALET, *orders.words]
        agent = subprocess.Popen(command, env=os.environ | orders.environment, stderr=file)
    agent.returncode = 0  # It is waited for by its id.
    return Victim(agent.pid)


def forked(orders: Orders) -> Victim:
    """The same in a copy of this process, which has everything imported: for slow machines."""
    pid = os.fork()
    if pid:
        return Victim(pid)
    try:
        sys.stdout = sys.stderr = orders.errors.open("w")
        os.environ.update(orders.environment)
        faults.install_from(orders.environment)
        main.run(orders.settings)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


@dataclass(slots=True)
class Fate:
    """What an agent is given so that it kills itself, or says when it is ready."""

    environment: dict[str, str]
    ready: socket.socket
    patience_seconds: float

    def death_at_a_point(self, victim: Victim, work: Callable[[], None]) -> None:
        """See it kill itself, which it does when it has passed enough points.

        Until then it is given ``work``: one that is at rest passes none.
        """
        gone = os.pidfd_open(victim.pid)
        deadline = time.monotonic() + self.patience_seconds
        try:
            while not _readable([gone], _BETWEEN_WORKS_SECONDS):
                if time.monotonic() > deadline:
                    signal.pidfd_send_signal(gone, signal.SIGKILL)
                    raise AssertionError("the agent works and passes no fault point")
                work()
        finally:
            os.close(gone)
            victim.wait()

    def death_at_any_moment(self, victim: Victim, rest_seconds: float) -> None:
        """Kill it so long after it was ready."""
        gone = os.pidfd_open(victim.pid)
        try:
            self._await_readiness(gone)
            _readable([gone], rest_seconds)
            signal.pidfd_send_signal(gone, signal.SIGKILL)
        finally:
            os.close(gone)
            victim.wait()

    def _await_readiness(self, gone: int) -> None:
        """Wait until it is ready, or dead."""
        deadline = time.monotonic() + self.patience_seconds
        while (left := deadline - time.monotonic()) > 0:
            there = _readable([self.ready.fileno(), gone], left)
            if gone in there or (there and self.ready.recv(100) == b"READY=1"):
                return
        signal.pidfd_send_signal(gone, signal.SIGKILL)
        raise AssertionError("the agent neither died nor became ready")


def _readable(descriptors: list[int], seconds: float) -> list[int]:
    return select.select(descriptors, [], [], seconds)[0]


@contextmanager
def doomed(folder: Path, passage: int | None, patience_seconds: float) -> Iterator[Fate]:
    """The fate to die at this passage of a fault point, or at none by itself."""
    listener = folder / "notify"
    listener.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
        ready.bind(str(listener))
        environment = {"NOTIFY_SOCKET": str(listener)}
        if passage is not None:
            environment[faults.VARIABLE] = f"*:*:{passage}"
        yield Fate(environment, ready, patience_seconds)
