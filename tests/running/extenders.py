"""``numalet extender`` in a process of its own, beside a real scheduler."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
from prometheus_client.parser import text_string_to_metric_families

from running.said_program import SaidProgram
from running.server_programs import PATIENCE_SECONDS, free_port

_READY: Final = "ready: "


class RunningExtender(SaidProgram):
    """One process, and where it listens."""

    def __init__(
        self,
        kubeconfig: Path,
        *words: str,
        port: int | None = None,
        program: Sequence[str] = ("-m", "numalet"),
    ) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        listen = f"127.0.0.1:{self.port}"
        command = ["extender", "--kubeconfig", str(kubeconfig), "--listen", listen, *words]
        super().__init__(*command, program=program)

    def configuration(self, **more: Any) -> dict[str, Any]:
        """Its entry in the scheduler's configuration."""
        return {
            "urlPrefix": self.url,
            "filterVerb": "filter",
            "nodeCacheCapable": True,
            "httpTimeout": "10s",
            **more,
        }

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
        extender.kill()
