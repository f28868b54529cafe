"""Links into the dashboard, for who may use this API; see ``dashboard.sessions``."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from numalet.agent.servers.api.served import OWN_GROUP
from numalet.agent.servers.api.status import Failure
from numalet.agent.servers.dashboard import DashboardLinks
from numalet.wording import kubernetes_api as words

PATH: Final = f"/apis/{OWN_GROUP}/dashboardlinks"


class LinkHandler:
    """Handler of ``/apis/numalet.dev/v1alpha1/dashboardlinks``."""

    def __init__(self, links: DashboardLinks) -> None:
        self._links = links

    def routes(self) -> list[Route]:
        return [Route(PATH, self.create, methods=["POST"])]

    async def create(self, _request: Request) -> Response:
        """A link that works once."""
        if self._links.make is None:
            raise Failure(404, words.NO_DASHBOARD)
        link = self._links.make()
        return JSONResponse(
            {
                "kind": "DashboardLink",
                "apiVersion": OWN_GROUP,
                "url": link.url,
                "seconds": link.seconds,
                "fingerprint": self._links.fingerprint or None,
            }
        )
