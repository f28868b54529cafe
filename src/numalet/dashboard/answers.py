"""Responses of the dashboard: pages and parts of them, with their security headers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from starlette.responses import HTMLResponse, Response

import numalet
from numalet.core.model.value import Value, field
from numalet.dashboard.sources import FleetSource, NodeSource, SourceKind
from numalet.pages import templating

# Drawings contain style sheets, so inline styles are allowed. Inline scripts are not.
POLICY: Final = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self';"
    " img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

GUARDING_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    # Browsers must not store data about a node.
    "Cache-Control": "no-store",
}

_PAGES: Final = (
    ("/", "Overview"),
    ("/node", "Node"),
    ("/pods", "Pods"),
    ("/what-if", "What if"),
    ("/history", "History"),
    ("/fleet", "Fleet"),
)
_KIND_MEANS: Final = {
    SourceKind.ENFORCING: ("enforcing", "numalet manages this node and enforces its decisions"),
    SourceKind.OBSERVING: ("observing", "a kubelet decides here; numalet only observes"),
    SourceKind.SIMULATED: ("simulated", "a node that exists only here; nothing runs on it"),
}


class PageHead(Value, kw_only=True):
    title: str
    kind: str
    kind_means: str
    release: str
    policy: str
    scope: str
    changed_at: datetime


class ShownSources(Value, kw_only=True):
    node: NodeSource | None
    fleet: FleetSource | None
    clock: Callable[[], datetime]
    path: str = ""
    paths: set[str] = field(default_factory=set)
    """The navigation contains the pages among them."""
    version: str = numalet.__version__

    def standing(self) -> PageHead | None:
        # Before any page is served (the login), nothing about the node is shown.
        if self.node is None or not self.paths:
            return None
        view = self.node.view()
        kind, kind_means = _KIND_MEANS[view.kind]
        rules = view.node.rules
        return PageHead(
            title=view.title,
            kind=kind,
            kind_means=kind_means,
            release=f"kubelet v{rules.behaviour.release.name}",
            policy=rules.topology.policy.value,
            scope=rules.topology.scope.value,
            changed_at=view.at,
        )

    @property
    def is_beside_kubelet(self) -> bool:
        """True if a kubelet manages this node, so that only its files and cgroups are known."""
        return self.node is not None and self.node.view().kind is SourceKind.OBSERVING

    @property
    def may_change(self) -> bool:
        """False for a dump, which never changes."""
        return self.node is not None or (self.fleet is not None and self.fleet.is_live)

    def pages(self) -> list[tuple[str, str]]:
        return [(path, name) for path, name in _PAGES if path in self.paths]

    def page(self, name: str, status: int = 200, **values: Any) -> Response:
        """Render a template, which also gets ``shown``."""
        return HTMLResponse(templating.page(name, shown=self, **values), status, GUARDING_HEADERS)

    def message(self, text: str, status: int) -> Response:
        title = "There is nothing here" if status == 404 else "numalet"
        return self.page("message.html", status, title=title, text=text)
