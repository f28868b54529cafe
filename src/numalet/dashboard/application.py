"""The dashboard as an ASGI application below one path such as ``/ui``, with its access control."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from numalet.core.model.value import Value
from numalet.dashboard import (
    fleet_pages,
    history_pages,
    node_pages,
    overview,
    pod_pages,
    what_if_pages,
)
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.entrance import TOKEN_SECONDS, Entrance, Sessions
from numalet.dashboard.live import LiveEvents, Revisions
from numalet.dashboard.rendered import RenderedPages
from numalet.dashboard.sources import FleetSource, NodeSource
from numalet.drawing import design
from numalet.pages import templating


# The page of tokens and states is for design work; no page links to it.
def design_routes(shown: ShownSources) -> list[Route]:

    async def tokens_and_states(_request: Request) -> Response:
        states = {name: templating.trusted(design.state(name)) for name in design.STATES}
        palette = templating.trusted(design.palette())
        nodes = {name: templating.trusted(drawn) for name, drawn in design.nodes().items()}
        return shown.page(
            "design.html",
            title="Design",
            palette=palette,
            states=states,
            nodes=nodes,
            rooms={name: templating.trusted(drawn) for name, drawn in design.rooms().items()},
            tiles=overview.SAMPLES,
            **history_pages.sample(),
        )

    return [Route("/design", tokens_and_states)]


_ROOMS: Final = (
    node_pages.routes,
    pod_pages.routes,
    what_if_pages.routes,
    history_pages.routes,
    fleet_pages.routes,
    design_routes,
)

_BUG: Final = (
    "This is a bug of numalet, not of what you asked for. Its report is {report}: the log of the"
    " server has this number with what happened. Other pages go on."
)
_REPORT_BYTES: Final = 4

_STATIC: Final = {
    "tokens.css": "text/css",
    "numalet.css": "text/css",
    "parts.css": "text/css",
    "fleet.css": "text/css",
    "layout.css": "text/css",
    "tables.css": "text/css",
    "print.css": "text/css",
    "lighting.js": "text/javascript",
    "cursor.js": "text/javascript",
    "copy.js": "text/javascript",
    "live.js": "text/javascript",
    "moving.js": "text/javascript",
    "stream.js": "text/javascript",
}


def application(
    node: NodeSource | None,
    fleet: FleetSource | None = None,
    report_bug: Callable[[Exception], None] = lambda bug: None,
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    path: str = "",
) -> Any:
    """Return the application; ``report_bug`` gets each unexpected exception."""
    shown = ShownSources(node=node, fleet=fleet, clock=clock, path=path)

    async def broken(_request: Request, bug: Exception) -> Response:
        # The error page shows this number, so that a report leads to the entry in the log.
        report = secrets.token_hex(_REPORT_BYTES)
        bug.add_note(f"report {report}")
        report_bug(bug)
        return shown.message(_BUG.format(report=report), 500)

    async def not_there(_request: Request, _error: Exception) -> Response:
        return shown.message("Page not found.", 404)

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            return shown.message("File not found.", 404)
        return Response(templating.static(name), media_type=_STATIC[name])

    revisions = Revisions(shown)
    routes = [
        *(route for room in _ROOMS for route in room(shown)),
        Route("/static/{name}", static),
        Route("/events", LiveEvents(revisions), methods=["GET"]),
    ]
    shown.paths.update(route.path for route in routes)
    made = Starlette(
        routes=routes,
        middleware=[Middleware(RenderedPages, revision=revisions.now, clock=time.monotonic)],
        exception_handlers={404: not_there, Exception: broken},
    )
    # Starlette builds the target from the Host header, which the client chooses.
    made.router.redirect_slashes = False
    return made


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
    pages = application(node, fleet, report_bug, path=path)
    shown = ShownSources(node=node, fleet=fleet, clock=lambda: datetime.now(UTC), path=path)
    entrance = Entrance(pages, shown, sessions, clock)
    return ServedDashboard(entrance, sessions, path, clock)
