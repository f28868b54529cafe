"""The complete dashboard for a server: pages, live updates, access control, and links."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from starlette.types import ASGIApp

from numalet.core.model.value import Value
from numalet.dashboard import application
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.entrance import Entrance
from numalet.dashboard.sessions import TOKEN_SECONDS, Sessions
from numalet.dashboard.sources import FleetSource, NodeSource


class Link(Value):
    url: str
    seconds: int


class ServedDashboard(Value):
    app: ASGIApp
    sessions: Sessions
    path: str
    clock: Callable[[], float]

    def link(self, base_url: str) -> Link:
        """Create a link; ``base_url`` is the server's, such as ``https://127.0.0.1:8443``."""
        token = self.sessions.new_token(self.clock())
        return Link(f"{base_url}{self.path}/login?token={token}", TOKEN_SECONDS)


def served(
    node: NodeSource | None,
    fleet: FleetSource | None = None,
    report_bug: Callable[[Exception], None] = lambda bug: None,
    *,
    path: str = "",
    clock: Callable[[], float] = time.monotonic,
) -> ServedDashboard:
    sessions = Sessions()
    pages = application.application(node, fleet, report_bug, path=path)
    shown = ShownSources(node=node, fleet=fleet, clock=lambda: datetime.now(UTC), path=path)
    entrance = Entrance(pages, shown, sessions, clock)
    return ServedDashboard(entrance, sessions, path, clock)
