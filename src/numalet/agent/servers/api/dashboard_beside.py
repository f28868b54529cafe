"""The dashboard beside the API on one port: which of the two answers a request."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from numalet.agent.servers.dashboard import PATH


class BesideApi:
    """Everything below ``/ui`` is the dashboard's, which has sessions; the rest is the API's."""

    def __init__(self, dashboard: ASGIApp, api: ASGIApp) -> None:
        self._dashboard = dashboard
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered."""
        path = scope.get("path", "")
        if path != PATH and not path.startswith(f"{PATH}/"):
            await self._api(scope, receive, send)
            return
        if path == PATH:
            scope = {**scope, "path": f"{PATH}/", "raw_path": f"{PATH}/".encode()}
        await self._dashboard({**scope, "root_path": PATH}, receive, send)
