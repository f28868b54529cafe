"""The errors of a request: a refusal by the server, or no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from numalet.core.model.findings import Finding
from numalet.core.model.value import Value, replace
from numalet.io.findings.kube_api import KubeApiRefused, KubeApiUnreachable

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_GONE: Final = 410
_TOO_MANY_REQUESTS: Final = 429
_INTERNAL_ERROR: Final = 500
_LONGEST_SHOWN: Final = 400
_BLANKS: Final = re.compile(r"\s+")


class ApiStatus(Value):
    """An error from the server: HTTP code, Kubernetes reason, message.

    ``retry_after_seconds`` is the delay that the server requests, if any. The properties interpret
    the codes; other modules do not compare codes.
    """

    code: int
    reason: str
    message: str
    retry_after_seconds: float | None = None

    @property
    def is_unauthorized(self) -> bool:
        """Whether the server does not recognise the credentials."""
        return self.code == _UNAUTHORIZED

    @property
    def is_forbidden(self) -> bool:
        """Whether the user is known but lacks the permission."""
        return self.code == _FORBIDDEN

    @property
    def is_absent(self) -> bool:
        """Whether the object, or its kind, does not exist."""
        return self.code == _NOT_FOUND

    @property
    def is_conflict(self) -> bool:
        """Whether it exists already, has changed since, or belongs to another manager."""
        return self.code == _CONFLICT

    @property
    def is_gone(self) -> bool:
        """Whether the server no longer has the requested version."""
        return self.code == _GONE

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.code == _TOO_MANY_REQUESTS or self.code >= _INTERNAL_ERROR


class ApiRefused(Exception):  # noqa: N818 - it is an answer
    def __init__(self, status: ApiStatus, asked: str = "") -> None:
        super().__init__(status, asked)
        self.status = status
        self.asked = asked
        """The request, such as ``GET /api/v1/nodes``."""

    @property
    def finding(self) -> Finding:
        status = self.status
        return KubeApiRefused(
            asked=self.asked, status=status.code, reason=status.reason, message=status.message
        )

    def __str__(self) -> str:
        what = f"{self.asked}: " if self.asked else ""
        return f"{what}{self.status.code} {self.status.reason}: {self.status.message}"


def of_apply(refused: ApiRefused, path: str) -> ApiRefused:
    """Complete the server's message about a refused server-side apply."""
    # To apply an object that does not exist, the user also needs the verb create. Without it,
    # servers send a message that ends after "is forbidden:".
    status = refused.status
    message = status.message.rstrip()
    if not (status.is_forbidden and message.endswith(" is forbidden:")):
        return refused
    resource = path.rsplit("/", 2)[-2]
    why = f'cannot create resource "{resource}", as applying an object does that is not there yet'
    return ApiRefused(replace(status, message=f"{message} {why}"), refused.asked)


class ApiUnreachable(Exception):  # noqa: N818 - whose fault it is is not known
    """The answer is missing or incomplete: broken connection or timeout."""

    def __init__(self, problem: str, server: str = "") -> None:
        super().__init__(problem, server)
        self.problem = problem
        self.server = server

    @property
    def finding(self) -> Finding:
        return KubeApiUnreachable(server=self.server, problem=self.problem)

    def __str__(self) -> str:
        return f"{self.server}: {self.problem}" if self.server else self.problem


class _Details(msgspec.Struct):
    retryAfterSeconds: float = 0  # noqa: N815 - the field of Kubernetes


class _Status(msgspec.Struct):
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


_decoder: Final = msgspec.json.Decoder(_Status)


def status_of(
    code: int, headers: Mapping[str, str], body: bytes, now: datetime | None = None
) -> ApiStatus:
    """The status of an error; a body that is not a ``Status`` (from a proxy) is the message."""
    retry = _retry_after(headers.get("retry-after", ""), now)
    try:
        status = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        status = _Status()
    if retry is None and status.details is not None and status.details.retryAfterSeconds > 0:
        retry = status.details.retryAfterSeconds
    message = status.message or _shown(body) or "no message"
    return ApiStatus(status.code or code, status.reason or "Unknown", message, retry)


def _retry_after(text: str, now: datetime | None) -> float | None:
    """Seconds from a Retry-After header with a number or a date."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        # Ten digits are 300 years; a longer number could exceed a float.
        return float(text[:10])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def _shown(body: bytes) -> str:
    text = _BLANKS.sub(" ", body[: 4 * _LONGEST_SHOWN].decode("utf-8", "replace")).strip()
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
