"""Metrics and probe pages of a service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from http import HTTPStatus

from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

Readiness = Callable[[], tuple[bool, str]]
"""Readiness and its text."""


def _always() -> tuple[bool, str]:
    return True, "ok\n"


def application(
    metrics: Callable[[], bytes],
    readiness: Readiness = _always,
    *,
    path: str = "/metrics",
    others: Iterable[Route] = (),
    in_thread: bool = False,
) -> Starlette:
    """An application with probes, metrics at ``path``, and ``others``.

    ``/healthz`` succeeds while the process works. ``in_thread`` is for slow metrics.
    """

    async def is_well(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def is_ready(request: Request) -> Response:
        is_so, text = readiness()
        return PlainTextResponse(text, HTTPStatus.OK if is_so else HTTPStatus.SERVICE_UNAVAILABLE)

    async def page(request: Request) -> Response:
        content = await asyncio.to_thread(metrics) if in_thread else metrics()
        return Response(content, media_type=CONTENT_TYPE_LATEST)

    of_service = [Route("/healthz", is_well), Route("/readyz", is_ready), Route(path, page)]
    made = Starlette(routes=[*others, *of_service])
    # Starlette redirects to the Host header, which the client controls.
    made.router.redirect_slashes = False
    return made
