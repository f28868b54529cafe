"""Options of a list or watch: label and field selectors, resource versions, continue tokens.

Kubernetes v1.32: ``apimachinery/pkg/labels`` and ``fields``, ``storage.continue``,
``metainternalversion/validation.ValidateListOptions``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec
from starlette.requests import Request

from numalet.agent.servers.api import status
from numalet.agent.servers.api.status import Failure, bad_query
from numalet.core.model.value import Value
from numalet.wording import kubernetes_api as words

Selector: TypeAlias = Callable[[Mapping[str, Any]], bool]

_KEY: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE: Final = r"[-A-Za-z0-9_.]*"
_SET: Final = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL: Final = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_EXISTS: Final = re.compile(rf"(!?)\s*({_KEY})")
_BETWEEN: Final = re.compile(r",(?![^(]*\))")
_LONGEST: Final = 4096

UNSET: Final = ("", "0")
"""Any version is acceptable: the current one."""

_MOST_DIGITS: Final = 18
_LONGEST_TOKEN: Final = 4096
_MATCHES: Final = ("Exact", "NotOlderThan")


def selector_of(request: Request, fields: Collection[str]) -> Selector:
    """Combine the request's selectors; ``fields`` are the supported paths."""
    given = request.query_params
    labels = [_requirement(part) for part in _parts(given.get("labelSelector", ""))]
    wanted = [_field(part, fields) for part in _parts(given.get("fieldSelector", ""))]

    def passes(value: Mapping[str, Any]) -> bool:
        own = value.get("metadata", {}).get("labels") or {}
        return all(each(own) for each in labels) and all(each(value) for each in wanted)

    return passes


def in_namespace(namespace: str | None, passes: Selector) -> Selector:
    """Restrict a selector to one namespace; None keeps it."""
    if namespace is None:
        return passes
    return lambda value: value["metadata"].get("namespace") == namespace and passes(value)


def is_selecting(request: Request) -> bool:
    given = request.query_params
    return bool(given.get("labelSelector") or given.get("fieldSelector"))


def _parts(text: str) -> list[str]:
    if len(text) > _LONGEST:
        raise Failure(400, words.SELECTOR.format(problem=f"longer than {_LONGEST} characters"))
    return [part.strip() for part in _BETWEEN.split(text)] if text.strip() else []


def _requirement(part: str) -> Selector:
    if match := _SET.fullmatch(part):
        key, operator, listed = match.groups()
        values = {value.strip() for value in listed.split(",")}
        if operator == "in":
            return lambda labels: key in labels and labels[key] in values
        # As in Kubernetes, an object without the label matches "notin" and "!=".
        return lambda labels: labels.get(key) not in values
    if match := _EQUAL.fullmatch(part):
        key, operator, value = match.groups()
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _EXISTS.fullmatch(part):
        absent, key = match.groups()
        return lambda labels: (key in labels) is not bool(absent)
    raise Failure(400, words.SELECTOR.format(problem=repr(part)))


def _field(part: str, known: Collection[str]) -> Selector:
    match = re.fullmatch(r"([^=!]+)(==|=|!=)(.*)", part)
    if match is None:
        raise Failure(400, words.SELECTOR.format(problem=repr(part)))
    path, operator, value = match[1].strip(), match[2], match[3].strip()
    if path not in known:
        raise Failure(400, words.FIELD_LABEL.format(field=path))
    wants_equal = operator != "!="
    return lambda match: (_at(match, path) == value) is wants_equal


def _at(value: Mapping[str, Any], path: str) -> str:
    """The text at a path; empty if absent."""
    member: Any = value
    for name in path.split("."):
        member = member.get(name) if isinstance(member, Mapping) else None
    return "" if member is None else str(member)


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


def version_of(request: Request) -> int | None:
    """The requested version, if any. Raises ``Failure`` 400."""
    text = request.query_params.get("resourceVersion", "")
    if text in UNSET:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise bad_query("resourceVersion", text[:40], "a whole number is expected")
    return int(text)


def wanted_versions(request: Request) -> WantedVersions:
    """Read all version parameters of a list request.

    Raises ``Failure`` 400 or 422 if they are invalid or contradict each other.
    """
    text = request.query_params.get("resourceVersion", "")
    match = request.query_params.get("resourceVersionMatch", "")
    going_on = request.query_params.get("continue", "")
    version = version_of(request)
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
