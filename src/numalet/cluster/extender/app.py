"""The extender's HTTP application: one route for each verb, probes, metrics.

A request that can not be answered is answered with ``Error``, whose text the scheduler shows to the
user of the pod; the status stays 200, as of any other one the scheduler shows nothing but a number.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from numalet.cluster.extender import wire
from numalet.cluster.extender.state import ExtenderState
from numalet.core.model.findings import BadInput
from numalet.io.documents.cluster_pods import PodReader

_JSON = "application/json"


def application(state: ExtenderState) -> Starlette:
    """The application that answers from this state."""
    pods = PodReader()

    async def filter_nodes(request: Request) -> Response:
        return _json(_answered(await request.body(), answer_filter))

    def answer_filter(body: bytes) -> bytes:
        asked = wire.arguments(body)
        named = asked.named()
        return wire.filter_answer(state.filtered(wire.pod(asked.pod, pods), [*named]), named)

    async def is_well(request: Request) -> Response:
        return PlainTextResponse("ok")

    async def is_ready(request: Request) -> Response:
        if state.live.is_ready:
            return PlainTextResponse("ok")
        why = "; ".join(map(str, state.live.problems)) or "not everything was listed yet"
        return PlainTextResponse(why, HTTPStatus.SERVICE_UNAVAILABLE)

    return Starlette(
        routes=[
            Route("/filter", filter_nodes, methods=["POST"]),
            Route("/healthz", is_well),
            Route("/readyz", is_ready),
        ]
    )


def _answered(body: bytes, answer: Callable[[bytes], bytes]) -> bytes:
    try:
        return answer(body)
    except BadInput as bad:
        return wire.filter_error(bad.findings)


def _json(content: bytes) -> Response:
    return Response(content, media_type=_JSON)
