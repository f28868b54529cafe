"""Small parts that objects of a cluster have in common: moments, labels, slices of JSON, taints."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from numalet.core.cluster.cluster import TaintEffect
from numalet.core.model.findings import Findings
from numalet.io.documents import typed
from numalet.io.documents.typed import Place
from numalet.io.findings.clusters import ClusterMoment, ClusterTaint
from numalet.io.findings.documents import DocumentSyntax

NOTHING: Final = msgspec.Raw()
"""Of a member that is not there."""

_ABSENT: Final = (b"", b"null")
_MOST_SHARED: Final = 20_000
_EFFECTS: Final = {effect.value: effect for effect in TaintEffect}

T = TypeVar("T")
M = TypeVar("M")


class Shape(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """The members that are read of an object; null counts as absent, as in Kubernetes."""


class Shared:
    """What equal parts of many objects are made into, once."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def get(self, key: Hashable, findings: Findings, make: Callable[[], T]) -> T:
        """What is made for this key; what has errors is made anew for each place."""
        if key in self._kept:
            kept: T = self._kept[key]
            return kept
        made = make()
        if not findings.has_errors:
            if len(self._kept) >= _MOST_SHARED:
                # What is alike comes again; what is of one object alone must not pile up.
                self._kept.clear()
            self._kept[key] = made
        return made


def decode(
    decoder: msgspec.json.Decoder[T], text: bytes, place: Place, findings: Findings
) -> T | None:
    """The object in a JSON text; None after one finding."""
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        findings.add(typed.refusal(text, decoder.type, place, DocumentSyntax))
        return None


def read(
    decoder: msgspec.json.Decoder[T],
    text: bytes,
    place: Place,
    findings: Findings,
    make: Callable[[T, Place, Findings], M],
) -> M | None:
    """What is made of the object in a JSON text; None when a finding says why there is none."""
    of_object = Findings()
    given = decode(decoder, text, place, of_object)
    made = None if given is None else make(given, place, of_object)
    findings.extend(of_object.all)
    return None if of_object.has_errors else made


def is_there(raw: msgspec.Raw) -> bool:
    """Whether there is such a member."""
    return bytes(raw) not in _ABSENT


def plain(raw: msgspec.Raw) -> Any:
    """The value of a member; None if it is not there."""
    return msgspec.json.decode(raw) if is_there(raw) else None


def moment(
    text: str | None, place: Place, path: tuple[str, str], findings: Findings
) -> float | None:
    """Seconds since 1970; None for a moment that is not known. ``path`` is that of the text."""
    if not text:
        return None
    seconds = _seconds(text)
    if seconds is None:
        where = place.member(path[0]).member(path[1]).location
        findings.add(ClusterMoment(value=typed.described(text), where=where))
    return seconds


@lru_cache(maxsize=4096)
def _seconds(text: str) -> float | None:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()


def taint_effect(value: object, place: Place, findings: Findings) -> TaintEffect | None:
    """The effect of a taint or toleration; None without one, or after a finding."""
    if value is None:
        return None
    effect = _EFFECTS.get(value) if isinstance(value, str) else None
    if effect is None:
        findings.add(ClusterTaint(value=typed.described(value), where=place.location))
    return effect


def texts(value: object, place: Place, findings: Findings) -> dict[str, str]:
    """An object whose members are texts, such as labels; findings for others."""
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
