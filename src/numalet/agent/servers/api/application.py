"""The agent's API as an ASGI application."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from numalet.agent.host.runtime.port import TRANSIENT_ERRORS
from numalet.agent.servers.api.cluster import ClusterHandlers
from numalet.agent.servers.api.logs import Logs
from numalet.agent.servers.api.non_resource import Discovery, HealthHandlers
from numalet.agent.servers.api.openapi import OpenApi
from numalet.agent.servers.api.own import Own
from numalet.agent.servers.api.pods import Pods
from numalet.agent.servers.api.runs import RunsHandler
from numalet.agent.servers.api.served import OWN_GROUP, Served
from numalet.agent.servers.api.status import Failure
from numalet.agent.servers.dashboard import DashboardLinks
from numalet.agent.servers.door import Door
from numalet.wording import kubernetes_api as words

_ROOMS: Final = (Discovery, Pods, Logs, ClusterHandlers, Own, RunsHandler, HealthHandlers)
_TEXTS: Final = {404: words.PATH_UNKNOWN, 405: words.METHOD}


def application(
    door: Door,
    report_bug: Callable[[Exception], None] = lambda bug: None,
    links: DashboardLinks | None = None,
) -> Any:
    """Build the application; ``report_bug`` receives unexpected exceptions.

    ``links`` creates dashboard links once a dashboard is served.
    """
    served = Served(door)

    async def failed(_request: Request, failure: Exception) -> Response:
        assert isinstance(failure, Failure)
        return failure.response()

    async def refused(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        text = _TEXTS.get(error.status_code, error.detail)
        code = error.status_code if error.status_code in _TEXTS else 400
        return Failure(code, text).response()

    async def broken(_request: Request, bug: Exception) -> Response:
        report_bug(bug)
        return Failure(500, words.BUG).response()

    async def starved(request: Request, error: Exception) -> Response:
        if isinstance(error, MemoryError):
            error = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        assert isinstance(error, OSError)
        # Only a shortage of the host is worth a retry; any other OSError is a bug.
        if error.errno not in TRANSIENT_ERRORS:
            return await broken(request, error)
        text = words.STARVED.format(error=error.strerror or error)
        return Failure(503, text).response()

    routes = [route for room in _ROOMS for route in room(served).routes()]
    routes.append(_link_route(links or DashboardLinks()))
    made = Starlette(
        routes=[*routes, *OpenApi(routes).routes()],
        exception_handlers={
            Failure: failed,
            HTTPException: refused,
            MemoryError: starved,
            OSError: starved,
            Exception: broken,
        },
    )
    # Starlette redirects to the Host header, which the client controls.
    made.router.redirect_slashes = False
    made.add_middleware(_without_last_slash)
    return made


def _without_last_slash(app: ASGIApp) -> ASGIApp:
    """Serve ``/version/`` as ``/version``, as an API server does. The dashboard has other rules."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path.endswith("/") and path.startswith(("/api", "/version")):
            scope = {**scope, "path": path.rstrip("/")}
        await app(scope, receive, send)

    return answered


def _link_route(links: DashboardLinks) -> Route:
    async def create(_request: Request) -> Response:
        if links.make is None:
            raise Failure(404, words.NO_DASHBOARD)
        link = links.make()
        return JSONResponse(
            {
                "kind": "DashboardLink",
                "apiVersion": OWN_GROUP,
                "url": link.url,
                "seconds": link.seconds,
                "fingerprint": links.fingerprint or None,
            }
        )

    return Route(f"/apis/{OWN_GROUP}/dashboardlinks", create, methods=["POST"])
