"""Resource versions as requests name them, and the tokens with which a list goes on.

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
"""Any version will do: what there is now."""

_MOST_DIGITS: Final = 18
_LONGEST_TOKEN: Final = 4096
_MATCHES: Final = ("Exact", "NotOlderThan")


class Match(Enum):
    """How a list and the resource version of its request belong together."""

    NOT_OLDER = "NotOlderThan"
    EXACT = "Exact"


class Token(msgspec.Struct, frozen=True):
    """Where a list goes on: behind this key, as it was at this version.

    Without a version it goes on with what there is now.
    """

    after: str
    version: int | None = None

    def text(self) -> str:
        """As ``metadata.continue`` has it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


class WantedVersions(Value):
    """The versions that a list may have; None for any."""

    version: int | None
    match: Match
    token: Token | None


def of_request(request: Request) -> int | None:
    """The requested version, or None for any. Raises ``Failure`` 400."""
    text = request.query_params.get("resourceVersion", "")
    if text in UNSET:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise bad_query("resourceVersion", text[:40], "a whole number is expected")
    return int(text)


def of_list(request: Request) -> WantedVersions:
    """Which versions the list may be of that is asked for.

    Raises:
        Failure: 400 or 422, the parameters mean nothing or do not belong together.
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
        padded = text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=Token)
        if token.version is not None and not 0 <= token.version < 10**_MOST_DIGITS:
            raise ValueError
    except (binascii.Error, msgspec.DecodeError, ValueError):
        raise Failure(400, words.CONTINUE_UNREADABLE) from None
    return token
