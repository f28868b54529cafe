"""One call of the scheduler: reads its body, answers, and counts; it never raises.

Errors are answered in the form of the verb. If the answer has a member ``Error`` the status is 200,
because the scheduler shows only the number of any other status.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from numalet.cluster.extender import wire
from numalet.cluster.extender.bodies import BodyReader, BodyRefusedError
from numalet.cluster.extender.metrics import CallResult
from numalet.cluster.extender.state import ExtenderState
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value

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
