"""The page of tokens and states, for design work; no page links to it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.dashboard.answers import ShownSources
from numalet.drawing import design
from numalet.pages import templating


def routes(shown: ShownSources) -> list[Route]:

    async def tokens_and_states(_request: Request) -> Response:
        states = {name: templating.trusted(design.state(name)) for name in design.STATES}
        palette = templating.trusted(design.palette())
        return shown.page("design.html", title="Design", palette=palette, states=states)

    return [Route("/design", tokens_and_states)]
