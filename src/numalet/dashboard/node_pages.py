"""Pages of a node."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.dashboard.answers import ShownSources
from numalet.drawing import node_drawing
from numalet.pages import templating


def routes(shown: ShownSources) -> list[Route]:
    """The pages of a node, if one is shown."""
    source = shown.node
    if source is None:
        return []

    async def node(_request: Request) -> Response:
        view = source.view()
        drawing = templating.trusted(node_drawing.draw(view.chart))
        return shown.page("node.html", title=view.title, drawing=drawing)

    return [Route("/", node), Route("/node", node)]
