"""Endpoints for monitoring: health, readiness, metrics, configuration."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from numalet.agent.servers import metrics
from numalet.agent.servers.api.served import Served
from numalet.io.documents.kubelet_config_document import configz
from numalet.shared.kubernetes.node_object import Unready

_READINESS: Final = {
    "node-state": Unready.STATE_UNWRITABLE,
    "sources": Unready.STARTING,
    "shutdown": Unready.STOPPING,
}
"""Readiness checks, by the state that fails them."""


class HealthHandlers:
    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        return [
            Route("/healthz", self.healthy, methods=["GET"]),
            Route("/livez", self.alive, methods=["GET"]),
            Route("/readyz", self.ready, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
            Route("/configz", self.config, methods=["GET"]),
        ]

    async def healthy(self, request: Request) -> Response:
        """Whether the agent responds and can write its node state."""
        unready = self._served.door.view().unready
        checks = {"ping": True, "node-state": unready is not Unready.STATE_UNWRITABLE}
        return _report(checks, "healthz", verbose="verbose" in request.query_params)

    async def alive(self, request: Request) -> Response:
        """Liveness must not depend on the disk: a restart would not repair it."""
        return _report({"ping": True}, "livez", verbose="verbose" in request.query_params)

    async def ready(self, request: Request) -> Response:
        """Whether the state is writable, all sources are ready, and no shutdown is in progress."""
        unready = self._served.door.view().unready
        checks = {"ping": True} | {name: unready is not why for name, why in _READINESS.items()}
        return _report(checks, "readyz", verbose="verbose" in request.query_params)

    async def metrics(self, _request: Request) -> Response:
        door = self._served.door
        page = metrics.text(door.view(), door.counts())
        return Response(page, headers={"content-type": metrics.CONTENT_TYPE})

    async def config(self, _request: Request) -> Response:
        return JSONResponse(configz(self._served.door.view().config))


def _report(checks: dict[str, bool], name: str, *, verbose: bool) -> Response:
    """As a kubelet answers: ``ok``, or a line for each check."""
    passed = all(checks.values())
    if passed and not verbose:
        return PlainTextResponse("ok")
    lines = [
        f"[+]{check} ok" if fine else f"[-]{check} failed: reason withheld"
        for check, fine in checks.items()
    ]
    verdict = f"{name} check {'passed' if passed else 'failed'}"
    return PlainTextResponse("\n".join([*lines, verdict, ""]), 200 if passed else 500)
