"""``numalet extender`` in a process of its own, beside a real scheduler."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
from prometheus_client.parser import text_string_to_metric_families

from running.server_programs import PATIENCE_SECONDS, free_port

_READY: Final = "ready: "


class RunningExtender:
    """One process; ``said`` is what it printed so far."""

    def __init__(
        self,
        kubeconfig: Path,
        *words: str,
        port: int | None = None,
        program: Sequence[str] = ("-m", "numalet"),
    ) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.said = ""
        self._lines = threading.Condition()
        listen = f"127.0.0.1:{self.port}"
        command = ["extender", "--kubeconfig", str(kubeconfig), "--listen", listen, *words]
        self.process = subprocess.Popen(
            [sys.executable, "-u", *program, *command],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def configuration(self, **more: Any) -> dict[str, Any]:
        """Its entry in the scheduler's configuration."""
        return {
            "urlPrefix": self.url,
            "filterVerb": "filter",
            "nodeCacheCapable": True,
            "httpTimeout": "10s",
            **more,
        }

    def until_said(self, text: str) -> None:
        """Wait until it has printed this; fails with what it did print."""
        with self._lines:
            self._lines.wait_for(
                lambda: text in self.said or not self._reader.is_alive(), PATIENCE_SECONDS
            )
        assert text in self.said, self.said

    def get(self, path: str) -> httpx.Response:
        """The answer to a GET."""
        return httpx.get(self.url + path, trust_env=False, timeout=PATIENCE_SECONDS)

    def metric(self, name: str, **labels: str) -> float:
        """A sample of its page of metrics, without the prefix; 0 if it is not there."""
        for family in text_string_to_metric_families(self.get("/metrics").text):
            for sample in family.samples:
                if sample.name == f"numalet_extender_{name}" and sample.labels == labels:
                    return float(sample.value)
        return 0.0

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
    kubeconfig: Path, *words: str, is_ready: bool = True, **how: Any
) -> Iterator[RunningExtender]:
    """An extender that knows its cluster, until the end of the block; ``how`` it is started."""
    extender = RunningExtender(kubeconfig, *words, **how)
    try:
        if is_ready:
            extender.until_said(_READY)
        yield extender
    finally:
        extender.end(signal.SIGKILL)
        assert extender.process.stderr is not None
        extender.process.stderr.close()
