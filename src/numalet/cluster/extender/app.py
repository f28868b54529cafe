"""The extender's HTTP applications: a route for each verb, probes, metrics.

A call of the scheduler reads its body, answers, and counts; it never raises. ``application`` serves
the scheduler. ``probes`` has a separate address if ``application`` requires client certificates,
which kubelets and Prometheus do not have.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Final, TypeAlias

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from numalet.cluster.extender import wire
from numalet.cluster.extender.binding import BindGate
from numalet.cluster.extender.metrics import CallResult
from numalet.cluster.extender.state import ExtenderState
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value
from numalet.io.documents.cluster.cluster_pods import PodReader
from numalet.shared.web import http_service

LARGEST_BODY_BYTES: Final = 80 * 1024 * 1024
MOST_VALUES: Final = 2_000_000
"""Counted as commas. A value takes at most 220 bytes before the nodes are counted."""
_SMALL: Final = 320
"""A body is small if it has at most this part of the largest size: 256 KiB."""
_DROPPED_FOR_ONE: Final = 4
"""Multiple of the largest size that is read of a refused body."""


# The largest bodies come from a scheduler that is not ``nodeCacheCapable``: 14 kB and some 330
# values for each node. The memory of a decoded body depends more on its values than on its bytes.
# Small bodies, those of a ``nodeCacheCapable`` scheduler, are always read.


class BodyRefusedError(Exception):
    """A body that is not read to its end; ``status`` is that of the answer."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status: Final = status


class BodyReader:
    """Reads bodies of at most ``largest_bytes``, twice as much over all requests."""

    def __init__(self, largest_bytes: int = LARGEST_BODY_BYTES) -> None:
        self._largest_bytes = largest_bytes
        self._most_bytes = 2 * largest_bytes
        self._under_way_bytes = 0

    async def read(self, request: Request) -> bytes:
        """Read the whole body.

        Raises:
            BodyRefusedError: it is too large, or too much arrives at once.
            ClientDisconnect: the client closed the connection.
        """
        refused: BodyRefusedError | None = None
        parts: list[bytes] = []
        size = kept = 0
        try:
            async for part in request.stream():
                size += len(part)
                if refused is None:
                    kept += len(part)
                    # Counted while the parts arrive and not from Content-Length, which a client may
                    # leave out or invent.
                    self._under_way_bytes += len(part)
                    parts.append(part)
                    refused = self._why_not(size)
                if refused is not None:
                    # The rest is read and dropped: a client that is still sending reads no answer.
                    parts.clear()
                    # A client that sends without end must not occupy a connection forever.
                    if size > _DROPPED_FOR_ONE * self._largest_bytes:
                        break
        finally:
            self._under_way_bytes -= kept
        if refused is not None:
            raise refused
        body = b"".join(parts)
        # Before decoding, since decoding is what needs the memory. Commas inside texts count too,
        # which only makes the limit a little stricter.
        if body.count(b",") > MOST_VALUES:
            text = f"a body has at most {MOST_VALUES} values"
            raise BodyRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        return body

    def _why_not(self, size: int) -> BodyRefusedError | None:
        if size > self._largest_bytes:
            text = f"a body has at most {self._largest_bytes} bytes"
            return BodyRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        if size > self._largest_bytes // _SMALL and self._under_way_bytes > self._most_bytes:
            text = "too many large requests at once"
            return BodyRefusedError(HTTPStatus.SERVICE_UNAVAILABLE, text)
        return None


# Errors are answered in the form of the verb. If the answer has a member ``Error`` the status is
# 200, because the scheduler shows only the number of any other status.

_JSON: Final = "application/json"
_FRAMES: Final = 3
BUG: Final = "a bug in numalet; its log says more"


class Call(Value):
    """A body, and the arrival time of its request by the clock of the state."""

    body: bytes
    began_seconds: float


Answerer: TypeAlias = Callable[[Call], Awaitable[bytes]]
Refuser: TypeAlias = Callable[[str], Response]


def error_member(text: str) -> Response:
    """Return the refusal of a verb whose answer has a member ``Error``."""
    return _json(wire.error(text))


def error_status(text: str) -> Response:
    """Return the refusal of a verb whose answer lacks such a member."""
    return PlainTextResponse(f"numalet: {text}", HTTPStatus.INTERNAL_SERVER_ERROR)


class Verb(Value):
    """The handler of ``/NAME``. ``answer`` may raise ``BadInput``.

    ``waits``: other calls are answered in the meantime, so the CPU time is not attributed to it.
    """

    name: str
    answer: Answerer
    refuse: Refuser = error_member
    waits: bool = False


class Calls:
    def __init__(self, state: ExtenderState, verb: Verb, bodies: BodyReader) -> None:
        self._state = state
        self._verb = verb
        self._bodies = bodies

    async def answer(self, request: Request) -> Response:
        began = self._state.now_seconds()
        try:
            body = await self._bodies.read(request)
        except BodyRefusedError as refused:
            self._count(CallResult.TOO_LARGE, began)
            # The connection may still carry the rest of the refused body, so it cannot be used
            # again.
            return PlainTextResponse(str(refused), refused.status, {"connection": "close"})
        except ClientDisconnect:
            self._count(CallResult.UNREADABLE, began)
            return Response(status_code=HTTPStatus.BAD_REQUEST)
        cpu_began = time.thread_time()
        response, result = await self._answered(Call(body, began))
        cpu_seconds = 0.0 if self._verb.waits else time.thread_time() - cpu_began
        self._count(result, began, cpu_seconds)
        return response

    async def _answered(self, call: Call) -> tuple[Response, CallResult]:
        silent = self._state.standing.why_silent()
        if silent:
            return self._verb.refuse(silent), CallResult.NOT_READY
        try:
            return _json(await self._verb.answer(call)), CallResult.ANSWERED
        except BadInput as bad:
            text = wire.error_text(bad.findings)
            name = self._verb.name
            self._state.log.repeat("cannot read a request", name, verb=name, why=text)
            return self._verb.refuse(text), CallResult.UNREADABLE
        # The scheduler treats a broken connection like an unreachable extender; an answer with the
        # reason appears in the pod's events.
        except Exception as bug:
            place = _place(bug)
            self._state.log.repeat(
                "a bug, please report it", place, verb=self._verb.name, bug=repr(bug), where=place
            )
            return self._verb.refuse(BUG), CallResult.FAILED

    def _count(self, result: CallResult, began: float, cpu_seconds: float = 0.0) -> None:
        seconds = self._state.now_seconds() - began
        self._state.metrics.request(self._verb.name, result, seconds, cpu_seconds)
        self._state.log.request(
            "request", verb=self._verb.name, result=result.value, ms=round(seconds * 1000, 1)
        )


def _place(bug: Exception) -> str:
    """Return the innermost places of an exception, on one line."""
    frames = traceback.extract_tb(bug.__traceback__)[-_FRAMES:]
    return " > ".join(f"{each.filename}:{each.lineno} {each.name}" for each in frames)


def _json(content: bytes) -> Response:
    return Response(content, media_type=_JSON)


def application(
    state: ExtenderState, bodies: BodyReader | None = None, gate: BindGate | None = None
) -> Starlette:
    """Serve verbs, probes and metrics of this state; ``bind`` only with a gate."""
    reader = bodies or BodyReader()
    routes = [
        Route(f"/{each.name}", Calls(state, each, reader).answer, methods=["POST"])
        for each in verbs(state, gate)
    ]
    return _with_probes(state, routes)


def probes(state: ExtenderState) -> Starlette:
    return _with_probes(state)


def verbs(state: ExtenderState, gate: BindGate | None = None) -> Sequence[Verb]:
    pods = PodReader()

    async def filter_nodes(call: Call) -> bytes:
        asked = wire.arguments(call.body)
        named = asked.named()
        pod = wire.pod(asked.pod, pods)
        await state.wait_for_late_news(pod, [*named], call.began_seconds)
        answer = state.filtered(pod, [*named], call.began_seconds)
        return wire.filter_answer(answer, asked, named)

    async def prioritize_nodes(call: Call) -> bytes:
        asked = wire.arguments(call.body)
        pod = wire.pod(asked.pod, pods)
        return wire.scores_answer(state.scored(pod, [*asked.named()], call.began_seconds).points)

    async def choose_victims(call: Call) -> bytes:
        asked = wire.preemption_arguments(call.body)
        pod = wire.pod(asked.pod, pods)
        return wire.preemption_answer(state.preempted(pod, asked.sets(), call.began_seconds).sets)

    every = [
        Verb("filter", filter_nodes),
        Verb("prioritize", prioritize_nodes, error_status),
        Verb("preempt", choose_victims, error_status),
    ]
    if gate is not None:
        every.append(_bind(gate))
    return every


def _bind(gate: BindGate) -> Verb:
    async def bind(call: Call) -> bytes:
        return wire.binding_answer(await gate.bind(wire.binding(call.body)))

    return Verb("bind", bind, waits=True)


def _with_probes(state: ExtenderState, others: Iterable[Route] = ()) -> Starlette:
    def readiness() -> tuple[bool, str]:
        why_not = state.standing.why_not_ready()
        age = state.live.age_seconds
        text = why_not or (f"ok, {age:.0f} s old" if age else "ok")
        return not why_not, f"{text}\n"

    return http_service.pages_application(state.metrics.page, readiness, others=others)
