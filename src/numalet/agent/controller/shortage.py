"""Reports that the agent has no free descriptors and accepts no connections.

asyncio then pauses the listening socket for a second, and only calls the loop's exception handler.
This one writes a log line, a counter and a note of the node.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from typing import Any, Final

from numalet.agent.host.runtime.port import TRANSIENT_ERRORS
from numalet.agent.telemetry.metrics import ACCEPT_PAUSES, Counts
from numalet.core.model.findings import Finding
from numalet.core.model.value import Mutable, field
from numalet.io import os_problem
from numalet.shared.findings.agent import AgentConnectionsRefused

NOTE: Final = "agent/connections-refused"
NOTED_SECONDS: Final = 60.0
"""How long the note stays, and the minimum interval of log lines."""
_PAUSE_SECONDS: Final = 0.9
"""Slightly less than asyncio's pause, which it reports several times."""


class Shortage(Mutable):
    """A loop's exception handler; ``report`` logs a finding."""

    report: Callable[[Finding], None] = field(default=lambda finding: None)
    others: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None] = field(
        default=lambda loop, context: loop.default_exception_handler(context)
    )
    counts: Counts = field(default_factory=Counts)
    _now: Callable[[], float] = field(default=lambda: asyncio.get_running_loop().time())
    _last: float | None = None
    _reported: float | None = None

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Count a shortage; pass other errors on."""
        error = context.get("exception")
        if (
            not isinstance(error, OSError)
            or error.errno not in TRANSIENT_ERRORS
            # asyncio names the listening socket only if ``accept`` failed; other errors with this
            # number belong to a client.
            or "socket" not in context
        ):
            self.others(loop, context)
            return
        now = loop.time()
        if self._last is not None and now - self._last < _PAUSE_SECONDS:
            return
        self._last = now
        self.counts = self.counts.plus(ACCEPT_PAUSES)
        if self._reported is None or now - self._reported >= NOTED_SECONDS:
            self._reported = now
            most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            self.report(AgentConnectionsRefused(error=os_problem.text(error), limit=most))

    def notes(self) -> tuple[str, ...]:
        """Codes of current and recent shortages."""
        is_recent = self._last is not None and self._now() - self._last < NOTED_SECONDS
        return (NOTE,) if is_recent else ()

    def counted(self) -> Counts:
        """Number of pauses."""
        return self.counts
