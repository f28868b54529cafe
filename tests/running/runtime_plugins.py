"""``numalet nri`` as a process beside a containerd: started, killed, held, and what it logs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final

from running.agent_processes import Process
from running.containerd import Containerd

CONFIG: Final = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: restricted
reservedSystemCPUs: "0"
kubeReserved: {memory: 156Mi}
reservedMemory:
- {numaNode: 0, limits: {memory: 256Mi}}
"""
SOCKET: Final = "/run/nri.sock"
_REGISTERED: Final = "Registered"

Start = Callable[[Sequence[str], IO[Any]], Process]
"""Starts ``numalet`` with these words; its error stream is this file."""


class Plugin:
    """The plugin's process; it reads ``CONFIG``. ``machine`` are options that name one."""

    def __init__(
        self,
        runtime: Containerd,
        start: Start,
        audit_seconds: float,
        patience_seconds: float,
        socket: str = SOCKET,
        machine: Sequence[str] = (),
    ) -> None:
        config = runtime.own.folder / "numalet.yaml"
        config.write_text(CONFIG)
        self.log = runtime.own.folder / "plugin.log"
        self._words = (
            *("nri", "--mode", "enforce", "-c", str(config), "--socket", socket),
            *("--root", "/var/lib/numalet", "--audit-seconds", str(audit_seconds)),
            *("--cgroups", str(runtime.own.cgroups), *machine),
        )
        self._start = start
        self._patience_seconds = patience_seconds
        self._process: Process | None = None

    def start(self) -> None:
        """Start it, and wait until it is registered."""
        before = self.registrations()
        self.begin()
        self.until(lambda: self.registrations() > before)

    def registrations(self) -> int:
        return self.said(_REGISTERED)

    def begin(self) -> None:
        with self.log.open("ab") as log:
            self._process = self._start(self._words, log)

    def kill(self) -> None:
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def hold(self) -> None:
        threads = Path(f"/proc/{self._signal(signal.SIGSTOP)}/task")
        # Until the kernel has stopped each of its threads, one of them may still answer.
        self.until(lambda: all(_is_stopped(each) for each in threads.iterdir()))

    def release(self) -> None:
        self._signal(signal.SIGCONT)

    def says(self, text: str) -> bool:
        return self.said(text) > 0

    def said(self, text: str) -> int:
        """How often the log has this text."""
        return self.log.read_text().count(text) if self.log.exists() else 0

    def reported(self, pod: str) -> bool:
        """Whether it said that a container of this pod runs unpinned."""
        lines = self.log.read_text().splitlines()
        return any("Unpinned" in each and f"pod=default/{pod} " in f"{each} " for each in lines)

    def end_of_log(self) -> str:
        return self.log.read_text()[-20_000:]

    def until(self, is_so: Callable[[], bool], why: Callable[[], str] | None = None) -> float:
        """Wait; how many seconds it took. ``why`` is the text of a failure, else the log."""
        began = time.monotonic()
        while not is_so():
            waited = time.monotonic() - began
            assert waited < self._patience_seconds, (why or self.end_of_log)()
            time.sleep(0.05)
        return time.monotonic() - began

    def _signal(self, number: signal.Signals) -> int:
        """Send it to the plugin's own process; the number of the process."""
        assert self._process is not None
        chain = [self._process.pid]
        # A program that enters a namespace for another one waits for it, and stops with it.
        while children := Path(f"/proc/{chain[-1]}/task/{chain[-1]}/children").read_text().split():
            chain.append(int(children[0]))
        os.kill(chain[-1], number)
        if number is not signal.SIGSTOP:
            for pid in chain[:-1]:
                os.kill(pid, signal.SIGCONT)
        return chain[-1]


def _is_stopped(thread: Path) -> bool:
    return (thread / "stat").read_text().rpartition(")")[2].split()[0] == "T"
