"""Parts that the objects of a cluster share: times, labels, raw JSON members, taints."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from numalet.core.cluster.cluster import TaintEffect
from numalet.core.model import input_error
from numalet.core.model.findings import Findings
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

NOTHING: Final = msgspec.Raw()
"""The value of an absent member."""

_ABSENT: Final = (b"", b"null")
_MOST_SHARED: Final = 20_000
_EFFECTS: Final = {effect.value: effect for effect in TaintEffect}

T = TypeVar("T")
M = TypeVar("M")


class Shape(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """The fields of an object that are read; null means absent, as in Kubernetes."""


class Shared:
    """A cache of the values that equal parts of many objects become."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def get(self, key: Hashable, findings: Findings, make: Callable[[], T]) -> T:
        """The value for this key. A value with errors is made again for each place."""
        if key in self._kept:
            kept: T = self._kept[key]
            return kept
        made = make()
        # A finding names its place, so errors are not shared.
        if not findings.has_errors:
            if len(self._kept) >= _MOST_SHARED:
                # Common parts return soon after; parts that are unique to one object must not
                # accumulate.
                self._kept.clear()
            self._kept[key] = made
        return made


def decode(
    decoder: msgspec.json.Decoder[T], text: bytes, place: Place, findings: Findings
) -> T | None:
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        findings.add(typed.refusal(text, decoder.type, place))
        return None


def read(
    decoder: msgspec.json.Decoder[T],
    text: bytes,
    place: Place,
    findings: Findings,
    make: Callable[[T, Place, Findings], M],
) -> M | None:
    """Decode a JSON text and pass the object to ``make``; errors of either leave it out."""
    of_object = Findings()
    given = decode(decoder, text, place, of_object)
    made = None if given is None else make(given, place, of_object)
    findings.extend(of_object.all)
    return None if of_object.has_errors else made


def is_there(raw: msgspec.Raw) -> bool:
    return bytes(raw) not in _ABSENT


def plain(raw: msgspec.Raw) -> Any:
    return msgspec.json.decode(raw) if is_there(raw) else None


def moment(
    text: str | None, place: Place, path: tuple[str, str], findings: Findings
) -> float | None:
    """Seconds since 1970; ``path`` is that of the text, for findings."""
    if not text:
        return None
    seconds = _seconds(text)
    if seconds is None:
        where = place.member(path[0]).member(path[1]).location
        findings.add(
            input_error.Invalid(
                f"invalid time {typed.described(text)}",
                expected="a time such as 2026-01-31T12:00:00Z",
                where=where,
            )
        )
    return seconds


@lru_cache(maxsize=4096)
def _seconds(text: str) -> float | None:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Kubernetes writes UTC; a text without a time zone is UTC as well.
    return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()


def taint_effect(value: object, place: Place, findings: Findings) -> TaintEffect | None:
    if value is None:
        return None
    effect = _EFFECTS.get(value) if isinstance(value, str) else None
    if effect is None:
        findings.add(
            input_error.NotSupported(
                f"unknown taint effect {typed.described(value)}",
                expected="NoSchedule, PreferNoSchedule or NoExecute",
                where=place.location,
            )
        )
    return effect


def texts(value: object, place: Place, findings: Findings) -> dict[str, str]:
    """An object with text members, such as labels; other members are findings."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        typed.wrong_type(value, "an object", place, findings)
        return {}
    read: dict[str, str] = {}
    for name, member in value.items():
        if isinstance(member, str):
            read[name] = member
        else:
            typed.wrong_type(member, "a text", place.member(name), findings)
    return read
