"""Converts values inside documents to types, with findings that name document, path and line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.io.documents.text import type_mismatch
from numalet.io.findings.documents import DocumentFieldMissing, DocumentType, DocumentUnknownField

LineOf = Callable[[str], int | None]
T = TypeVar("T")

PUBLISHED_AS: Final = "x-published-as"
"""Metadata of a field: the schema to publish instead of the one of its type."""

_LONGEST_SHOWN: Final = 60
_LONGEST_SHOWN_BITS: Final = 128


def no_line(_path: str) -> int | None:
    return None


class Place(NamedTuple):
    """A place in a document; ``lines`` returns the line of a path on demand.

    A named tuple and not a ``Value``, because it is faster to make: a reader makes a place for
    every member of a document and uses few of them.
    """

    document: str
    path: str = "$"
    lines: LineOf = no_line

    def member(self, name: str) -> Place:
        return Place(self.document, f"{self.path}.{name}", self.lines)

    def item(self, index: int) -> Place:
        return Place(self.document, f"{self.path}[{index}]", self.lines)

    @property
    def location(self) -> Location:
        return Location(self.document, self.path, self.lines(self.path))

    def below(self, path: str) -> Location:
        """Return the location of a path such as ``.spec.containers[0]`` below this place."""
        return self._replace(path=self.path + path).location


def decode(value: object, shape: type[T], place: Place, findings: Findings) -> T | None:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        findings.extend([_finding(value, shape, place)])
        return None
    # Lone surrogates, which JSON can escape, are not valid UTF-8.
    except UnicodeEncodeError as error:
        wrong_type(error.object, "a text of whole characters", place, findings)
        return None


def decode_json(content: bytes, shape: type[T], place: Place) -> T:
    """Decode a JSON text into the given shape.

    Raises:
        BadInput: it is not JSON, or of another shape.
    """
    findings = Findings()
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        findings.add(_not_json(error, place))
        raise BadInput(findings.all) from None
    decoded = decode(value, shape, place, findings)
    if decoded is None:
        raise BadInput(findings.all)
    return decoded


def refusal(content: bytes, shape: Any, place: Place) -> Finding:
    """The finding about bytes that msgspec has just refused for this shape."""
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _not_json(error, place)
    return _finding(value, shape, place)


def _not_json(error: Exception, place: Place) -> Finding:
    return input_error.Invalid(f"invalid JSON: {error}", where=place.location)


def wrong_type(value: object, expected: str, place: Place, findings: Findings) -> None:
    findings.add(DocumentType(expected=expected, got=described(value), where=place.location))


def not_allowed(value: object, allowed: Iterable[str], place: Place, findings: Findings) -> None:
    findings.add(
        input_error.NotSupported(
            f"unknown value {described(value)}",
            expected=f"one of: {', '.join(allowed)}",
            where=place.location,
        )
    )


def check_members(
    value: Mapping[Any, Any], known: Collection[str], place: Place, findings: Findings
) -> None:
    for name in value:
        if name not in known:
            findings.add(
                DocumentUnknownField(
                    name=str(name), nearest=nearest(str(name), known), where=place.location
                )
            )


def nearest(name: str, known: Collection[str]) -> str:
    """The most similar known names, or all of them, as a text."""
    close = difflib.get_close_matches(name, sorted(known), n=2)
    return " or ".join(close) if close else ", ".join(sorted(known))


def described(value: object) -> str:
    """The kind of a value, or its text in short."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() > _LONGEST_SHOWN_BITS:
            return f"a number of {value.bit_length()} bits"
        case str() | int() | float():
            text = repr(value)
            return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _finding(value: object, shape: Any, place: Place) -> Finding:
    mismatch = type_mismatch.first(value, shape)
    if mismatch is None:
        return DocumentType(expected="something else", got=described(value), where=place.location)
    where = place._replace(path=place.path + mismatch.path).location
    if mismatch.missing:
        return DocumentFieldMissing(name=mismatch.missing, where=where)
    got = mismatch.got or described(mismatch.value)
    return DocumentType(expected=mismatch.expected, got=got, where=where)
