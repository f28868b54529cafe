"""The pages of a service that has no others: its metrics, and its probes."""

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
"""Whether a service is ready, and what is to be said of it."""


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
    """An application with these pages, and others.

    ``/healthz`` answers as long as this process works. Metrics are at ``path``; those that take
    long can be made ``in_thread``.
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
    # Its redirects lead to the host that a client names.
    made.router.redirect_slashes = False
    return made
