"""Resource versions and continue tokens of requests.

Kubernetes v1.32: ``metainternalversion/validation.ValidateListOptions``, ``storage.continue``.
"""

from __future__ import annotations

import base64
import binascii
from enum import Enum
from typing import Final

import msgspec
from starlette.requests import Request

from numalet.agent.servers.api import status
from numalet.agent.servers.api.status import Failure, bad_query
from numalet.core.model.value import Value
from numalet.wording import kubernetes_api as words

UNSET: Final = ("", "0")
"""Any version is acceptable: the current one."""

_MOST_DIGITS: Final = 18
_LONGEST_TOKEN: Final = 4096
_MATCHES: Final = ("Exact", "NotOlderThan")


class Match(Enum):
    """How a list relates to the requested version."""

    NOT_OLDER = "NotOlderThan"
    EXACT = "Exact"


class Token(msgspec.Struct, frozen=True):
    """A position in a chunked list: after this key, at this version or the current one."""

    after: str
    version: int | None = None

    def text(self) -> str:
        """Encode for ``metadata.continue``."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


class WantedVersions(Value):
    """The versions that a list may show; without ``version``, any."""

    version: int | None
    match: Match
    token: Token | None


def of_request(request: Request) -> int | None:
    """The requested version, if any. Raises ``Failure`` 400."""
    text = request.query_params.get("resourceVersion", "")
    if text in UNSET:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise bad_query("resourceVersion", text[:40], "a whole number is expected")
    return int(text)


def of_list(request: Request) -> WantedVersions:
    """Read all version parameters of a list request.

    Raises ``Failure`` 400 or 422 if they are invalid or contradict each other.
    """
    text = request.query_params.get("resourceVersion", "")
    match = request.query_params.get("resourceVersionMatch", "")
    going_on = request.query_params.get("continue", "")
    version = of_request(request)
    if match:
        _check_match(match, text, going_on)
    if going_on and version is not None:
        raise Failure(400, words.VERSION_AND_CONTINUE)
    matching = Match.EXACT if match == Match.EXACT.value else Match.NOT_OLDER
    return WantedVersions(version, matching, _token(going_on) if going_on else None)


def _check_match(match: str, version: str, going_on: str) -> None:
    if match not in _MATCHES:
        raise status.invalid_option("resourceVersionMatch", words.MATCH_UNKNOWN, match[:40])
    if going_on:
        raise status.invalid_option("resourceVersionMatch", words.MATCH_AND_CONTINUE)
    if not version:
        raise status.invalid_option("resourceVersionMatch", words.MATCH_ALONE)
    if match == Match.EXACT.value and version == "0":
        raise status.invalid_option("resourceVersionMatch", words.MATCH_EXACT_ZERO)


def _token(text: str) -> Token:
    try:
        if len(text) > _LONGEST_TOKEN:
            raise ValueError
        # Padding was removed, because "=" would need escaping in a URL.
        padded = text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=Token)
        if token.version is not None and not 0 <= token.version < 10**_MOST_DIGITS:
            raise ValueError
    except (binascii.Error, msgspec.DecodeError, ValueError):
        raise Failure(400, words.CONTINUE_UNREADABLE) from None
    return token
