"""Answers of the dashboard: pages and parts of them, each with the headers that guard it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from starlette.responses import HTMLResponse, Response

import numalet
from numalet.core.model.value import Value, field
from numalet.dashboard import standing
from numalet.dashboard.sources import FleetSource, NodeSource, SourceKind
from numalet.pages import templating

POLICY: Final = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self';"
    " img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Drawings bring their style sheets with them, so styles may be inline; scripts may not."""

GUARDING_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer. What is shown of a node stays in no cache of a browser."""


class ShownSources(Value, kw_only=True):
    """What is shown: a node, a fleet, or both; below which path, such as ``/ui``."""

    node: NodeSource | None
    fleet: FleetSource | None
    clock: Callable[[], datetime]
    path: str = ""
    paths: set[str] = field(default_factory=set)
    """The paths that are served; the navigation has the pages among them."""
    version: str = numalet.__version__

    def standing(self) -> standing.PageHead | None:
        """What the head of every page says of the node, if one is shown.

        Pages of the entrance, where nothing is served yet, say nothing of the node.
        """
        if self.node is None or not self.paths:
            return None
        return standing.standing(self.node.view())

    @property
    def is_beside_kubelet(self) -> bool:
        """Whether a kubelet decides on this node, so that only what it leaves there is known."""
        return self.node is not None and self.node.view().kind is SourceKind.OBSERVING

    @property
    def may_change(self) -> bool:
        """Whether what is shown can change; what was read out of a dump can not."""
        return self.node is not None or (self.fleet is not None and self.fleet.is_live)

    def pages(self) -> list[tuple[str, str]]:
        """Path and name of the pages in the navigation."""
        return standing.pages(self.paths)

    def page(self, name: str, status: int = 200, **values: Any) -> Response:
        """The page that this template makes; it also gets ``shown``."""
        return HTMLResponse(templating.page(name, shown=self, **values), status, GUARDING_HEADERS)

    def message(self, text: str, status: int) -> Response:
        """A page that only says something."""
        title = "There is nothing here" if status == 404 else "numalet"
        return self.page("message.html", status, title=title, text=text)
