"""The dashboard as an ASGI application below one path, such as ``/ui``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from numalet.dashboard.sources import FleetSource, NodeSource
from numalet.drawing import node_drawing
from numalet.pages import templating

POLICY: Final = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self';"
    " img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Drawings bring their style sheets with them, so styles may be inline; scripts may not."""

_STATIC: Final = {
    "tokens.css": "text/css",
    "numalet.css": "text/css",
    "lighting.js": "text/javascript",
}


def application(
    node: NodeSource | None,
    fleet: FleetSource | None = None,
    report_bug: Callable[[Exception], None] = lambda bug: None,
) -> Any:
    """The application; ``report_bug`` gets every unexpected exception."""

    async def broken(_request: Request, bug: Exception) -> Response:
        report_bug(bug)
        return _page("message.html", title="numalet", text="This is a bug of numalet.", status=500)

    async def node_page(_request: Request) -> Response:
        assert node is not None
        view = node.view()
        return _page(
            "node.html",
            title=view.title,
            drawing=templating.trusted(node_drawing.draw(view.chart)),
        )

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            return _page("message.html", title="numalet", text="There is no such page.", status=404)
        return Response(templating.static(name), media_type=_STATIC[name])

    return Starlette(
        routes=[
            Route("/", node_page),
            Route("/static/{name}", static),
        ],
        exception_handlers={Exception: broken},
    )


def _page(name: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(
        templating.page(name, **values), status, {"Content-Security-Policy": POLICY}
    )
