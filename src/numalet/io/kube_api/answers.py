"""What comes of a request that did not succeed: the server's refusal, or no answer at all."""

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
    """An answer that is no success: code of HTTP, Kubernetes' reason, the server's message.

    ``retry_after_seconds`` is how long the server asks to wait; None if it does not ask. What a
    code means is said here, and no other place compares codes.
    """

    code: int
    reason: str
    message: str
    retry_after_seconds: float | None = None

    @property
    def is_unauthorized(self) -> bool:
        """Whether the server does not know who asks."""
        return self.code == _UNAUTHORIZED

    @property
    def is_forbidden(self) -> bool:
        """Whether the server knows who asks, and that one may not."""
        return self.code == _FORBIDDEN

    @property
    def is_absent(self) -> bool:
        """Whether there is no such object, or no such kind of objects."""
        return self.code == _NOT_FOUND

    @property
    def is_conflict(self) -> bool:
        """Whether it is there already, was changed meanwhile, or belongs to another manager."""
        return self.code == _CONFLICT

    @property
    def is_gone(self) -> bool:
        """Whether the server does not remember the version that it was asked about."""
        return self.code == _GONE

    @property
    def is_temporary(self) -> bool:
        """Whether nothing is wrong with the request: later the same one may succeed."""
        return self.code == _TOO_MANY_REQUESTS or self.code >= _INTERNAL_ERROR


class ApiRefused(Exception):  # noqa: N818 - it is an answer
    """The API server answered, and not with a success."""

    def __init__(self, status: ApiStatus, asked: str = "") -> None:
        super().__init__(status, asked)
        self.status = status
        self.asked = asked
        """The request, as ``GET /api/v1/nodes``."""

    @property
    def finding(self) -> Finding:
        """The same for a user."""
        status = self.status
        return KubeApiRefused(
            asked=self.asked, status=status.code, reason=status.reason, message=status.message
        )

    def __str__(self) -> str:
        what = f"{self.asked}: " if self.asked else ""
        return f"{what}{self.status.code} {self.status.reason}: {self.status.message}"


def of_apply(refused: ApiRefused, path: str) -> ApiRefused:
    """The refusal of a server-side apply of this object, with the verb that it is about.

    Where the object is not there yet, who applies it needs the verb create, too. Without it
    servers refuse with a message that ends where the reason should begin.
    """
    status = refused.status
    message = status.message.rstrip()
    if not (status.is_forbidden and message.endswith(" is forbidden:")):
        return refused
    resource = path.rsplit("/", 2)[-2]
    why = f'cannot create resource "{resource}", as applying an object does that is not there yet'
    return ApiRefused(replace(status, message=f"{message} {why}"), refused.asked)


class ApiUnreachable(Exception):  # noqa: N818 - whose fault it is is not known
    """No complete answer came: no connection, or one that broke or stayed silent."""

    def __init__(self, problem: str, server: str = "") -> None:
        super().__init__(problem, server)
        self.problem = problem
        self.server = server

    @property
    def finding(self) -> Finding:
        """The same for a user."""
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
    """The status of an answer; one of a proxy, which is no ``Status``, is shown as it is."""
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
    """Seconds of a header that has a number or a date; None for one that has neither."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:10])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def _shown(body: bytes) -> str:
    """The beginning of a body that is no ``Status``, on one line."""
    text = _BLANKS.sub(" ", body[: 4 * _LONGEST_SHOWN].decode("utf-8", "replace")).strip()
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
